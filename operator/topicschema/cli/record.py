"""The operator's record as a file: histories, payloads and claims, one JSON object a line, and a line with a digest."""

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Final, Protocol

from topicschema.api import store
from topicschema.api.kinds import PULSAR_NAMESPACE_CLAIM, SCHEMA_HISTORY, SCHEMA_VERSION, Kind
from topicschema.cli.inputs.files import UsageError
from topicschema.core.errors import StalledError

Object = Mapping[str, Any]


class RecordStore(Protocol):
    """The record in one store. Each method raises TopicSchemaError if the store gives no answer or refuses."""

    def listed(self, kind: Kind) -> Iterator[Object]:
        """Yield all objects of the kind, from one snapshot."""

    def create(self, kind: Kind, saved: Object) -> None:
        """Create an object."""

    def replace(self, kind: Kind, known: Object, spec: Any) -> None:
        """Replace the spec of the object `known`, unless it has changed since."""


KINDS: Final = (SCHEMA_HISTORY, PULSAR_NAMESPACE_CLAIM, SCHEMA_VERSION)
"""The kinds in the order in which a backup reads them: a version that a history names is there afterwards."""
_RETAINED: Final = ("name", "labels", "annotations")
_READERS: Final[Mapping[str, Callable[[object], object]]] = {
    SCHEMA_HISTORY.name: store.history_from_wire,
    PULSAR_NAMESPACE_CLAIM.name: store.claim_from_wire,
    SCHEMA_VERSION.name: store.version_from_wire,
}


def of_kind(objects: Iterable[Object], kind: Kind) -> list[Object]:
    """Return the objects of the kind."""
    return [each for each in objects if each["kind"] == kind.name]


def lines(objects: Iterable[Object]) -> Iterator[str]:
    """Yield the lines of the file. Raise StalledError(HistoryDamaged) if an object is damaged or a version missing."""
    saved = [portable(each) for each in objects]
    check(saved)
    digest = hashlib.sha256()
    for each in saved:
        line = json.dumps(each, ensure_ascii=False, separators=(",", ":")) + "\n"
        digest.update(line.encode())
        yield line
    yield json.dumps({"objects": len(saved), "sha256": digest.hexdigest()}) + "\n"


def objects_of(content: bytes) -> list[Object]:
    """Return the objects of a file. Raise UsageError if it is no backup, is cut short, or has damaged objects."""
    *first, last = content.splitlines(keepends=True) or [b""]
    try:
        end = json.loads(last)
        objects = [json.loads(line) for line in first]
        is_whole = end == {"objects": len(first), "sha256": hashlib.sha256(b"".join(first)).hexdigest()}
    except ValueError:
        is_whole = False
    if not is_whole:
        raise UsageError("the backup is cut short or was changed: the digest in its last line differs; use another one")
    try:
        check(objects)
    except StalledError as error:
        raise UsageError(error.message) from None
    return objects


def check(objects: Iterable[Object]) -> None:
    """Raise StalledError(HistoryDamaged) if an object is damaged, or if a history names a version that is missing."""
    listed = list(objects)
    for each in listed:
        check_object(each)
    names = {each["metadata"]["name"] for each in of_kind(listed, SCHEMA_VERSION)}
    check_names(of_kind(listed, SCHEMA_HISTORY), names)


def check_object(wire: Object) -> None:
    """Raise StalledError(HistoryDamaged) if the object is damaged: for a version, if it has not its content hash."""
    _READERS[wire["kind"]](wire)


def check_names(histories: Iterable[Object], names: Collection[str]) -> None:
    """Raise StalledError(HistoryDamaged) if a history names a version that is not in `names`."""
    for wire in histories:
        history = store.history_from_wire(wire)
        for entry in history.entries:
            name = store.version_name(history.key, history.incarnation, *entry.identity)
            if not entry.is_tombstone and name not in names:
                raise store.missing_version(wire["metadata"]["name"], name)


def is_older(there: Object, saved: Object) -> bool:
    """Return True if the history `there` lacks versions of `saved`, and has none that `saved` lacks."""
    before, after = store.history_from_wire(there), store.history_from_wire(saved)
    if before.incarnation != after.incarnation:
        return before.incarnation < after.incarnation
    return len(before.entries) < len(after.entries) and all(
        one.identity == other.identity for one, other in zip(before.entries, after.entries, strict=False)
    )


def portable(wire: Object) -> Object:
    """Return the object without what belongs to one cluster."""
    metadata = {name: wire["metadata"][name] for name in _RETAINED if wire["metadata"].get(name)}
    return {"apiVersion": wire["apiVersion"], "kind": wire["kind"], "metadata": metadata, "spec": wire["spec"]}
