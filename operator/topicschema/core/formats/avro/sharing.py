"""Records that large schemas have in common: one object for all schemas alive that define it alike at the same place.

So the versions of a long history cost, in memory and in time, what differs between them. Alike means: the same JSON
value, the same path and namespace around it, and the same objects behind the names that it takes from outside.
"""

import hashlib
import marshal
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakValueDictionary

from topicschema.core.formats.avro.library import Library
from topicschema.core.formats.avro.model import Field, Named, Node, Outline, Record, Reference

_SHELF: Final[WeakValueDictionary[bytes, Record]] = WeakValueDictionary()
"""All records that may be shared, by their keys; it keeps none of them alive."""
_WHOLES: Final[WeakValueDictionary[bytes, Record]] = WeakValueDictionary()
"""In the same way those that are whole schemas, by the keys of their texts."""


def key_of_text(text: bytes, library: Library, *, validates: bool) -> bytes:
    """What is equal for two texts exactly when they are the same text, read alike."""
    return hashlib.sha256(f"{library.value} {validates}\n".encode() + text).digest()


def find_whole(wanted: bytes) -> Record | None:
    """The schema with that key."""
    return _WHOLES.get(wanted)


def offer_whole(wanted: bytes, root: Node) -> None:
    """Let others have the schema, of which all has been checked."""
    if isinstance(root, Record):
        _WHOLES[wanted] = root


def key(value: Any, path: str, space: str, library: Library) -> bytes:
    """What is equal for two definitions exactly when they are alike but for the names that they take from outside."""
    place = f"{library.value}\n{path}\n{space}\n".encode("utf-8", "surrogatepass")
    # Version 2 of the form writes equal values alike: it knows nothing of which strings are the same object.
    return hashlib.sha256(place + marshal.dumps(value, 2)).digest()


def find(wanted: bytes, named: Mapping[str, Named]) -> Record | None:
    """The record with that key, if it may stand where the types in `named` are defined before it."""
    record = _SHELF.get(wanted)
    outline = record.outline if record is not None else None
    if record is None or outline is None or record.full_name in named:
        return None
    if any(each.full_name in named for each in outline.types):
        return None
    return record if all(_found(names, named) is node for names, node in outline.references) else None


@dataclass(frozen=True, slots=True)
class Made:
    """What was made for one record: the types within it, the fields, what it refers to, the length of the paths."""

    types: list[Named]
    fields: list[Field]
    references: list[Reference]
    path_length: int


def offer(wanted: bytes, record: Record, made: Made, unfinished: Iterable[Named]) -> None:
    """Let others have the record, unless it refers to one that is not finished."""
    inside = set(made.types)
    outside = {
        (names, None if node in inside else node)
        for names, node in made.references
        if node not in inside or names[0] != node.full_name
    }
    if not {node for _, node in outside}.isdisjoint(unfinished):
        return
    types = tuple(each for each in made.types if each is not record)
    record.outline = Outline(types, tuple(made.fields), tuple(outside), made.path_length)
    _SHELF[wanted] = record


def _found(names: Iterable[str], named: Mapping[str, Named]) -> Named | None:
    return next((named[name] for name in names if name in named), None)
