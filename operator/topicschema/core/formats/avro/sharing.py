"""Records that large schemas have in common with the version before: one object where they define it alike.

So the versions of a long history cost, in memory and in time, what differs between them. Alike means: the same text at
the same path (`rereading`), the same namespace around it, the same objects behind the names that it takes from outside.
"""

import re
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final
from weakref import WeakValueDictionary

from topicschema.core.formats.avro.library import Library
from topicschema.core.formats.avro.model import Field, Named, Node, Origin, Outline, Record, Reference

_WHOLES: Final[WeakValueDictionary[Hashable, Record]] = WeakValueDictionary()
"""Whole schemas by something of their texts; it keeps none of them alive."""
_NEWEST: Final[WeakValueDictionary[tuple[bytes, Library, int], Record]] = WeakValueDictionary()
"""In the same way by what may be their names, the newest as number 0."""
_STRIDE: Final = 1009
_REMEMBERED: Final = 4
"""So many of a name: the newest may be somebody's try, and gone."""
_FIRST_NAME: Final = re.compile(rb'"name"\s*:\s*"([^"]*)"')


def find_whole(text: bytes, library: Library, *, validates: bool) -> Record | None:
    """The schema of the same text, read alike."""
    root = _WHOLES.get(_sketch(text, library, validates=validates))
    if root is None or root.source != text:
        return None
    root.source = text  # of equal texts the one that was used last stays
    return root


def offer_whole(text: bytes, root: Node, library: Library, *, validates: bool) -> None:
    """Let others have the schema of that text, of which all has been checked."""
    if not isinstance(root, Record):
        return
    root.source = text
    _WHOLES[_sketch(text, library, validates=validates)] = root
    title = _title(text)
    for age in reversed(range(1, _REMEMBERED)):
        younger = _NEWEST.get((title, library, age - 1))
        if younger is not None:
            _NEWEST[title, library, age] = younger
    _NEWEST[title, library, 0] = root


def _sketch(text: bytes, library: Library, *, validates: bool) -> Hashable:
    """What tells most texts apart at little cost."""
    return library, validates, len(text), text[::_STRIDE]


def before(text: bytes, library: Library) -> Record | None:
    """The newest schema alive that may be an earlier version of the one in this text."""
    title = _title(text)
    found = (_NEWEST.get((title, library, age)) for age in range(_REMEMBERED))
    return next((root for root in found if root is not None), None)


def _title(text: bytes) -> bytes:
    """The first name in a text, which mostly is the schema's."""
    found = _FIRST_NAME.search(text)
    return found[1] if found else b""


def may_stand(record: Record, space: str, named: Mapping[str, Named]) -> bool:
    """Whether the record may be taken over in a namespace, where the types in `named` are defined before it."""
    outline = record.outline
    if outline is None or outline.origin.space != space:
        return False
    if record.full_name in named or not named.keys().isdisjoint(outline.types):
        return False
    return all(_found(names, named) is node for names, node in outline.references)


@dataclass(frozen=True, slots=True)
class Made:
    """What was made for one record: the types within it, the fields, what it refers to, the length of the paths."""

    types: list[Named]
    fields: list[Field]
    references: list[Reference]
    path_length: int


def offer(record: Record, made: Made, origin: Origin, unfinished: Iterable[Named]) -> None:
    """Let others have the record, unless it refers to one that is not finished."""
    inside = set(made.types)
    outside = {
        (names, None if node in inside else node)
        for names, node in made.references
        if node not in inside or names[0] != node.full_name
    }
    if not {node for _, node in outside}.isdisjoint(unfinished):
        return
    types = {each.full_name: each for each in made.types if each is not record}
    record.outline = Outline(types, tuple(made.fields), tuple(outside), made.path_length, origin)


def _found(names: Iterable[str], named: Mapping[str, Named]) -> Named | None:
    return next((named[name] for name in names if name in named), None)
