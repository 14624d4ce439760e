"""Stream of the changes of objects of one kind in one namespace: a list and a watch of their metadata."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any, Final

from topicschema.api.kinds import Kind
from topicschema.cluster.client import ApiClient
from topicschema.core.errors import TopicSchemaError

_LOG = logging.getLogger(__name__)
_RETRY_SECONDS: Final = 1.0

ObjectMetadata = Mapping[str, Any]


async def changes(client: ApiClient, kind: Kind, namespace: str) -> AsyncIterator[tuple[ObjectMetadata, bool]]:
    """Yield the metadata of each changed object, and True if it was deleted. List again after each failure.

    The first list is a change of all: this process may have read one of them shortly before.
    """
    known: dict[str, ObjectMetadata] = {}
    logged = ""
    while True:
        try:
            listed, since = await client.list_metadata(kind, namespace)
            now = {metadata["name"]: _needed(metadata) for metadata in listed}
            before, known = known, now
            for name, metadata in (before | now).items():
                if before.get(name) != now.get(name):
                    yield metadata, name not in now
            async for metadata, is_deleted in _watched(client, kind, namespace, since):
                known.pop(metadata["name"], None)
                if not is_deleted:
                    known[metadata["name"]] = _needed(metadata)
                yield metadata, is_deleted
        except TopicSchemaError as error:
            if error.message != logged:
                logged = error.message
                _LOG.warning("changes of %s in %s are not observed: %s", kind.plural, namespace, logged)
            await asyncio.sleep(_RETRY_SECONDS)


async def _watched(
    client: ApiClient, kind: Kind, namespace: str, since: str
) -> AsyncIterator[tuple[ObjectMetadata, bool]]:
    """Yield the same for the events after `since`. When the API server ends a watch, the next one continues."""
    while True:
        async with aclosing(client.watch(kind, namespace, since)) as events:
            async for event, metadata in events:
                since = metadata["resourceVersion"]
                if event != "BOOKMARK":
                    yield metadata, event == "DELETED"
        await asyncio.sleep(_RETRY_SECONDS)


def _needed(metadata: ObjectMetadata) -> ObjectMetadata:
    """Return the part of the metadata that stays in memory."""
    return {name: metadata.get(name) for name in ("namespace", "name", "resourceVersion", "annotations")}
