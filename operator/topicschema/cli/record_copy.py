"""A copy of the whole record from one store to another, which an interruption leaves without damage."""

from collections.abc import Iterator, Mapping
from typing import Final

from topicschema.api.kinds import PULSAR_NAMESPACE_CLAIM, SCHEMA_HISTORY, SCHEMA_VERSION, Kind
from topicschema.cli import record
from topicschema.cli.record import Object, RecordStore
from topicschema.core.errors import StalledError
from topicschema.core.reasons import Reason

_SMALL_KINDS: Final = (PULSAR_NAMESPACE_CLAIM, SCHEMA_HISTORY)
"""The kinds that fit in memory together, in the order in which they are written."""

_ByName = Mapping[str, Object]


class RefusedCopyError(Exception):
    """The target has something that the copy would overwrite, one line each. Nothing was written."""


class RecordCopy:
    """A copy of all objects of `source` to `target`. Payloads are never in memory together.

    Its methods raise TopicSchemaError if a store gives no answer, and StalledError(HistoryDamaged) for a damaged
    object. `written` is the number of objects that the target lacked.
    """

    def __init__(self, source: RecordStore, target: RecordStore) -> None:
        self._source = source
        self._target = target
        self.written = 0
        # Before the payloads: each payload that a history names is stored when they are read.
        self._objects = {kind: _by_name(source, kind) for kind in _SMALL_KINDS}

    def run(self) -> int:
        """Copy, and return the number of objects in the target that were compared with the source afterwards.

        Raises RefusedCopyError.
        """
        there = {kind: _by_name(self._target, kind) for kind in _SMALL_KINDS}
        if refusals := [line for kind in _SMALL_KINDS for line in _refusals(self._objects[kind], there[kind])]:
            raise RefusedCopyError("\n".join(refusals))
        hashes = self._copy_payloads()
        for kind in _SMALL_KINDS:
            for name, wire in self._objects[kind].items():
                known = there[kind].get(name)
                if known is None:
                    self._target.create(kind, record.portable(wire))
                elif known["spec"] != wire["spec"]:
                    self._target.replace(kind, known, wire["spec"])
                else:
                    continue
                self.written += 1
        return self._verify(hashes)

    def _copy_payloads(self) -> dict[str, str]:
        """Copy the payloads that the target lacks. Return the content hashes of all in the source, by name."""
        there, hashes = _hashes(self._target), dict[str, str]()
        for wire in self._source.listed(SCHEMA_VERSION):
            record.check_object(wire)
            name, content_hash = wire["metadata"]["name"], wire["spec"]["contentHash"]
            hashes[name] = content_hash
            if name not in there:
                self._target.create(SCHEMA_VERSION, record.portable(wire))
                self.written += 1
            elif there[name] != content_hash:
                raise StalledError(Reason.HISTORY_DAMAGED, f"SchemaVersion {name} has another payload in the target")
        record.check_names(self._objects[SCHEMA_HISTORY].values(), hashes)
        return hashes

    def _verify(self, hashes: Mapping[str, str]) -> int:
        """Read the target again. Raise StalledError(HistoryDamaged) if it does not have what the source has."""
        copied = _hashes(self._target)
        differing = [name for name, content_hash in hashes.items() if copied.get(name) != content_hash]
        for kind in _SMALL_KINDS:
            now = _by_name(self._target, kind)
            differing += [
                name for name, wire in self._objects[kind].items() if now.get(name, {}).get("spec") != wire["spec"]
            ]
        if differing:
            raise StalledError(Reason.HISTORY_DAMAGED, f"the target differs after the copy: {', '.join(differing[:5])}")
        return len(hashes) + sum(map(len, self._objects.values()))


def _by_name(store: RecordStore, kind: Kind) -> _ByName:
    objects = {}
    for wire in store.listed(kind):
        record.check_object(wire)
        objects[wire["metadata"]["name"]] = wire
    return objects


def _hashes(store: RecordStore) -> dict[str, str]:
    """Return the content hash of each payload by its name, once its content was compared with it."""
    hashes = {}
    for wire in store.listed(SCHEMA_VERSION):
        record.check_object(wire)
        hashes[wire["metadata"]["name"]] = wire["spec"]["contentHash"]
    return hashes


def _refusals(objects: _ByName, there: _ByName) -> Iterator[str]:
    """Yield a line for each object of the target that the copy would overwrite or that the source lacks."""
    for name, known in there.items():
        wire, what = objects.get(name), f"{known['kind']} {name}"
        if wire is None:
            yield f"{what} is in the target only: delete it there first"
        elif wire["spec"] != known["spec"] and not (
            known["kind"] == SCHEMA_HISTORY.name and record.is_older(known, wire)
        ):
            yield f"{what} in the target is newer, or differs: delete it there first, or copy from there"
