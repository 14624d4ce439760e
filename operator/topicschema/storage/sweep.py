"""Removes payloads that no history names: what a crash between payload and history leaves behind. The leader's duty."""

from collections import defaultdict
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from topicschema.api import record
from topicschema.api.kinds import SCHEMA_HISTORY, SCHEMA_VERSION
from topicschema.cluster.client import ApiClient, Selection
from topicschema.cluster.errors import NotFoundError
from topicschema.core.errors import StalledError
from topicschema.core.history import History
from topicschema.storage import objects
from topicschema.storage.record import REUSED_ANNOTATION

GRACE = timedelta(hours=1)
"""A payload that was written or taken up within this time may be about to be named."""


async def sweep(client: ApiClient, namespace: str, now: datetime) -> int:
    """Remove payloads that are older than GRACE at `now` and that no history names; how many were removed.

    A history is read after its payloads were listed, and a payload is removed only as it was listed: one that is taken
    up meanwhile stays. Payloads of an earlier incarnation were named once and stay, those of a history that cannot be
    read stay too.
    """
    old: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    async for page in client.pages(SCHEMA_VERSION, namespace, Selection(metadata_only=True)):
        for metadata in (item["metadata"] for item in page):
            history = (metadata.get("labels") or {}).get(record.HISTORY_LABEL)
            if history and now - _touched(metadata) > GRACE:
                old[history].append(metadata)
    removed = 0
    for history, payloads in old.items():
        removed += await _sweep_history(client, namespace, history, payloads)
    return removed


async def _sweep_history(client: ApiClient, namespace: str, name: str, payloads: list[Mapping[str, Any]]) -> int:
    try:
        history = record.history_from_wire(await client.get(SCHEMA_HISTORY, namespace, name))
    except NotFoundError:
        earliest, named = 0, frozenset[str]()
    except StalledError:
        return 0
    else:
        earliest, named = history.incarnation, _named(history)
    unnamed = [p for p in payloads if p["name"] not in named and _incarnation(name, p["name"]) >= earliest]
    return sum([await objects.delete_as_listed(client, SCHEMA_VERSION, metadata) for metadata in unnamed])


def _named(history: History) -> frozenset[str]:
    return frozenset(
        record.version_name(history.key, history.incarnation, entry.schema_version, entry.content_hash)
        for entry in history.entries
    )


def _incarnation(history: str, payload: str) -> int:
    """The incarnation that a payload's name tells, or -1 for a name that we would not give."""
    text = payload.removeprefix(f"{history}-").partition("-")[0]
    return int(text) if text.isdecimal() else -1


def _touched(metadata: Mapping[str, Any]) -> datetime:
    times = [metadata["creationTimestamp"], (metadata.get("annotations") or {}).get(REUSED_ANNOTATION)]
    return max(_time(text) for text in times if text)


def _time(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except ValueError:  # somebody else wrote it; whatever it means, nothing is old by it
        return datetime.now(UTC)
