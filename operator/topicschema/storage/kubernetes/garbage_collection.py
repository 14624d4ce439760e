"""Garbage collection of payloads that no history names, as after a crash between the two writes. The leader runs it."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from topicschema.api import store
from topicschema.api.kinds import SCHEMA_HISTORY, SCHEMA_VERSION, Kind
from topicschema.cluster.client import ApiClient, Selection
from topicschema.cluster.errors import NotFoundError
from topicschema.core.errors import StalledError
from topicschema.core.history import History
from topicschema.storage.kubernetes import objects
from topicschema.storage.kubernetes.objects import REUSED_ANNOTATION
from topicschema.storage.protocol import GRACE

_AT_ONCE = 8

_Payloads = dict[str, Mapping[str, Any]]  # the metadata of payloads, by their names


class GarbageCollector:
    """Garbage collector of one namespace.

    It reads a history only if it or its old payloads changed since the last run.
    """

    def __init__(self, client: ApiClient, namespace: str) -> None:
        self._client = client
        self._namespace = namespace
        # By history: its revision, and a hash of the names of those of its old payloads that stay.
        self._swept: dict[str, tuple[str, int]] = {}

    async def collect(self, now: datetime) -> int:
        """Remove payloads that are older than GRACE at `now` and that no history names. Return their number.

        A history is read after its payloads were listed, and a payload is removed only if it did not change since: one
        that is reused meanwhile stays. Payloads of an earlier incarnation stay, and those of a history that cannot be
        read.
        """
        old = await self._old_payloads(now)
        revisions = {metadata["name"]: metadata["resourceVersion"] async for metadata in self._listed(SCHEMA_HISTORY)}
        changed = [name for name in old if self._swept.get(name) != (revisions.get(name, ""), _hash(old[name]))]
        removed = 0
        for start in range(0, len(changed), _AT_ONCE):
            some = changed[start : start + _AT_ONCE]
            removed += sum(await asyncio.gather(*(self._collect_history(name, old[name]) for name in some)))
        self._swept = {name: swept for name, swept in self._swept.items() if name in old}
        return removed

    async def _old_payloads(self, now: datetime) -> dict[str, _Payloads]:
        """Return the payloads that are older than GRACE, by the names of their histories."""
        old: dict[str, _Payloads] = defaultdict(dict)
        async for metadata in self._listed(SCHEMA_VERSION):
            history = (metadata.get("labels") or {}).get(store.HISTORY_LABEL)
            if history and now - _touched(metadata) > GRACE:
                old[history][metadata["name"]] = metadata
        return old

    async def _listed(self, kind: Kind) -> AsyncIterator[Mapping[str, Any]]:
        async for page in self._client.pages(kind, self._namespace, Selection(metadata_only=True)):
            for item in page:
                yield item["metadata"]

    async def _collect_history(self, name: str, payloads: _Payloads) -> int:
        revision, unnamed = "", set[str]()
        try:
            wire = await self._client.get(SCHEMA_HISTORY, self._namespace, name)
            revision, history = objects.revision(wire), store.history_from_wire(wire)
            unnamed = _since(history.incarnation, name, payloads.keys() - _named(history))
        except NotFoundError:
            unnamed = _since(0, name, payloads)
        except StalledError:
            pass
        self._swept[name] = revision, _hash(payloads.keys() - unnamed)
        return sum([await objects.delete_as_listed(self._client, SCHEMA_VERSION, payloads[each]) for each in unnamed])


def _hash(names: Iterable[str]) -> int:
    return hash(frozenset(names))


def _since(incarnation: int, history: str, names: Iterable[str]) -> set[str]:
    return {name for name in names if _incarnation(history, name) >= incarnation}


def _named(history: History) -> frozenset[str]:
    return frozenset(
        store.version_name(history.key, history.incarnation, entry.schema_version, entry.content_hash)
        for entry in history.entries
    )


def _incarnation(history: str, payload: str) -> int:
    """Return the incarnation in a payload's name, or -1 for a name of another form."""
    text = payload.removeprefix(f"{history}-").partition("-")[0]
    return int(text) if text.isdecimal() else -1


def _touched(metadata: Mapping[str, Any]) -> datetime:
    times = [metadata["creationTimestamp"], (metadata.get("annotations") or {}).get(REUSED_ANNOTATION)]
    return max(_time(text) for text in times if text)


def _time(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except ValueError:  # another client wrote it: never treat it as old
        return datetime.now(UTC)
