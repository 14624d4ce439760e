"""Sharing of records between versions of a large schema: one object for a record that both define alike.

So a long history costs, in memory and in time, only the differences between its versions. Alike means: the same text at
the same path (`incremental`), in the same namespace, with outside names that refer to the same objects.
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
"""Whole schemas by a sketch of their texts. The references are weak."""
_NEWEST: Final[WeakValueDictionary[tuple[bytes, Library, int], Record]] = WeakValueDictionary()
"""Whole schemas by their probable names, the newest as number 0. The references are weak."""
_STRIDE: Final = 1009
_REMEMBERED: Final = 4
"""The number of schemas per name. The newest may be a client's trial and already freed."""
_FIRST_NAME: Final = re.compile(rb'"name"\s*:\s*"([^"]*)"')

_MOST_LENGTH: Final = 2**25
"""The maximum number of characters in all paths and full names. It bounds memory.

It is hundreds of times the need of a schema of 400 kB.
"""

Mark = tuple[int, int, int, int]


def find_whole(text: bytes, library: Library, *, validates: bool) -> Record | None:
    """Return the schema of the same text, parsed with the same options, or None."""
    root = _WHOLES.get(_sketch(text, library, validates=validates))
    if root is None or root.source != text:
        return None
    root.source = text  # of equal texts, retain the one used last
    return root


def offer_whole(text: bytes, root: Node, library: Library, *, validates: bool) -> None:
    """Share the schema of that text, which must have passed all checks."""
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
    """Return a cheap key that differs for most texts."""
    return library, validates, len(text), text[::_STRIDE]


def before(text: bytes, library: Library) -> Record | None:
    """Return the newest schema in memory that may be an earlier version of the one in this text, or None."""
    title = _title(text)
    found = (_NEWEST.get((title, library, age)) for age in range(_REMEMBERED))
    return next((root for root in found if root is not None), None)


def _title(text: bytes) -> bytes:
    """Return the first name in a text, which mostly is the schema's; empty if there is none."""
    found = _FIRST_NAME.search(text)
    return found[1] if found else b""


def weight(namespace: str) -> int:
    """Return the length that one name in the namespace adds for its lookups and its forms (`fingerprint`)."""
    return len(namespace) * (4 if namespace.isascii() else 16)


class Made:
    """The results of a builder so far: types by full name, fields, references, and the length of paths and names."""

    __slots__ = ("fields", "length", "named", "references")

    def __init__(self) -> None:
        self.named: dict[str, Named] = {}
        self.fields: list[Field] = []
        self.references: list[Reference] = []
        self.length = 0

    def mark(self) -> Mark:
        """Return the current sizes, which mark a point in time."""
        return len(self.named), len(self.fields), len(self.references), self.length

    def grow(self, length: int) -> None:
        """Add to the length. Raise InvalidSchemaError COMPARISON_TOO_COMPLEX beyond the limit."""
        self.length += length
        if self.length > _MOST_LENGTH:
            why = f"the paths and full names of its types have more than {_MOST_LENGTH:,} characters in all"
            todo = "shorten namespaces, or name inner types and refer to them"
            raise InvalidSchemaError("COMPARISON_TOO_COMPLEX", f"{why}; {todo}", Place())

    def take(self, record: Record, space: str) -> bool:
        """Add another schema's record, with all types within it.

        Return False if it does not fit this namespace and time.
        """
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
        """Share the record, begun at `since`, with other schemas, unless it refers to an unfinished one."""
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
