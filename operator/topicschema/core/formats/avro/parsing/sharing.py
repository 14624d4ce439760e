"""Records that large schemas have in common with the version before: one object where they define it alike.

So the versions of a long history cost, in memory and in time, what differs between them. Alike means: the same text at
the same path (`rereading`), the same namespace around it, the same objects behind the names that it takes from outside.
"""

import re
from collections.abc import Hashable, Iterable
from itertools import islice
from typing import Final
from weakref import WeakValueDictionary

from topicschema.core.errors import InvalidSchemaError, Place
from topicschema.core.formats.avro.avro_version import Library
from topicschema.core.formats.avro.model import Field, Named, Node, Origin, Outline, Record, Reference

_WHOLES: Final[WeakValueDictionary[Hashable, Record]] = WeakValueDictionary()
"""Whole schemas by something of their texts; it keeps none of them alive."""
_NEWEST: Final[WeakValueDictionary[tuple[bytes, Library, int], Record]] = WeakValueDictionary()
"""In the same way by what may be their names, the newest as number 0."""
_STRIDE: Final = 1009
_REMEMBERED: Final = 4
"""So many of a name: the newest may be somebody's try, and gone."""
_FIRST_NAME: Final = re.compile(rb'"name"\s*:\s*"([^"]*)"')

_MOST_LENGTH: Final = 2**25
"""Characters in all paths and full names; it bounds memory. It is hundreds of times what a schema of 400 kB needs."""

Mark = tuple[int, int, int, int]


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


def weight(namespace: str) -> int:
    """Return what one name in the namespace adds to the length: it is looked up, and written in forms (`identity`)."""
    return len(namespace) * (4 if namespace.isascii() else 16)


class Made:
    """What a builder has made so far: the types by full name, the fields, the names that it met, their length."""

    __slots__ = ("fields", "length", "named", "references")

    def __init__(self) -> None:
        self.named: dict[str, Named] = {}
        self.fields: list[Field] = []
        self.references: list[Reference] = []
        self.length = 0

    def mark(self) -> Mark:
        """A point in time."""
        return len(self.named), len(self.fields), len(self.references), self.length

    def grow(self, length: int) -> None:
        """Add to the length; InvalidSchemaError COMPARISON_TOO_COMPLEX beyond the limit."""
        self.length += length
        if self.length > _MOST_LENGTH:
            why = f"the paths and full names of its types have more than {_MOST_LENGTH:,} characters in all"
            todo = "shorten namespaces, or name inner types and refer to them"
            raise InvalidSchemaError("COMPARISON_TOO_COMPLEX", f"{why}; {todo}", Place())

    def take(self, record: Record, space: str) -> bool:
        """Take over another schema's record, with all within it; False where it may not stand in that namespace now."""
        outline = record.outline
        if outline is None or outline.origin.space != space or record.full_name in self.named:
            return False
        if not self.named.keys().isdisjoint(outline.types) or self.length + outline.length > _MOST_LENGTH:
            return False
        if not all(self._meant(names) is node for names, node in outline.references):
            return False
        self.named[record.full_name] = record
        self.named |= outline.types
        self.fields += outline.fields
        self.references += outline.references
        self.length += outline.length
        return True

    def offer(self, record: Record, origin: Origin, since: Mark, unfinished: Iterable[Named]) -> None:
        """Let others have the record, begun at that time, unless it refers to one that is not finished."""
        types, fields, references, length = since
        within = [*islice(reversed(self.named.values()), len(self.named) - types)][::-1]
        inside = set(within)
        outside = {
            (names, None if node in inside else node)
            for names, node in self.references[references:]
            if node not in inside or names[0] != node.full_name
        }
        if {node for _, node in outside}.isdisjoint(unfinished):
            others = {each.full_name: each for each in within if each is not record}
            length = self.length - length
            record.outline = Outline(others, tuple(self.fields[fields:]), tuple(outside), length, origin)

    def _meant(self, names: Iterable[str]) -> Named | None:
        return next((self.named[name] for name in names if name in self.named), None)
