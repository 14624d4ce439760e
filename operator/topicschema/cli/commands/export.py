"""`topicschema export`: a topic's stored versions, as uploads for a broker that lost them."""

import json
import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from topicschema.api import store
from topicschema.api.kinds import SCHEMA_HISTORY, SCHEMA_VERSION
from topicschema.broker import wire
from topicschema.cli.exits import COMPATIBLE, INCOMPATIBLE
from topicschema.cli.inputs import files
from topicschema.cli.inputs.files import UsageError
from topicschema.core.errors import StalledError, TopicSchemaError
from topicschema.core.history import History

_NOT_PRINTED: Final = "standard input is not the output of kubectl get -o json; use the command that --help shows"


def run(options: Namespace) -> int:
    """Print the bodies in order. Return 1, with the reason on standard error, if no upload can restore them all."""
    del options
    objects = list(_objects(files.read(files.STANDARD_INPUT)))
    try:
        history = _history(objects)
        bodies = list(_bodies(history, objects))
    except StalledError as error:
        raise UsageError(error.message) from None
    except _LostError as error:
        print(f"topicschema export: {error}", file=sys.stderr)
        return INCOMPATIBLE
    for body in bodies:
        print(json.dumps(body, ensure_ascii=False, separators=(",", ":")))
    return COMPATIBLE


class _LostError(Exception):
    """Reason why the versions cannot get their numbers again."""


def _objects(content: bytes) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of successive JSON documents, with lists flattened."""
    decoder, text, at = json.JSONDecoder(), content.decode(errors="replace").strip(), 0
    while at < len(text):
        try:
            document, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            raise UsageError(_NOT_PRINTED) from None
        listed = document.get("items") if isinstance(document, dict) and document.get("kind") == "List" else [document]
        if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
            raise UsageError(_NOT_PRINTED)
        yield from listed
        at = end + len(text[end:]) - len(text[end:].lstrip())


def _of_kind(objects: Iterable[Mapping[str, Any]], kind: str) -> list[Mapping[str, Any]]:
    return [each for each in objects if each.get("kind") == kind]


def _history(objects: Iterable[Mapping[str, Any]]) -> History:
    histories = _of_kind(objects, SCHEMA_HISTORY.name)
    if len(histories) != 1:
        raise UsageError(f"standard input has {len(histories)} SchemaHistories; one is needed, and its SchemaVersions")
    return store.history_from_wire(histories[0])


def _bodies(history: History, objects: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    payloads = {_name(each): each for each in _of_kind(objects, SCHEMA_VERSION.name)}
    for number, entry in enumerate(history.entries):
        if entry.schema_version != number:
            raise _LostError(
                f"there is no version {number} in the history, and no upload can give the next one its number"
            )
        if entry.is_tombstone:
            raise _LostError(f"version {number} is a deletion, which cannot be uploaded")
        name = store.version_name(history.key, history.incarnation, number, entry.content_hash)
        if name not in payloads:
            raise UsageError(f"SchemaVersion {name} is missing")
        try:
            yield wire.written(store.version_from_wire(payloads[name]))
        except TopicSchemaError as error:
            raise _LostError(f"version {number} cannot be uploaded: {error}") from None


def _name(wire: Mapping[str, Any]) -> str:
    metadata = wire.get("metadata")
    return str(metadata.get("name")) if isinstance(metadata, dict) else ""
