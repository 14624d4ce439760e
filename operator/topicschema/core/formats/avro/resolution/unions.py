"""Equivalence of a writer's and a reader's union: if they are equivalent, Avro compares no deeper.

Source: Resolver.unionEquiv, 1.11.4. Equivalent unions have the same structure: kinds, order and number of branches,
simple names, field names in order, sizes, symbols. Namespaces, defaults, docs and logical types do not count, and
nothing is promoted. Cycles count as the same.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from topicschema.core.formats.avro.model import Array, Enum, Fixed, Map, Node, Primitive, Record, Union
from topicschema.core.steps import PER_PAIR, Steps

_Link = tuple[Node, Node, "_Link | None"]
_DIFFERENT: Final = None


class Equivalence:
    """A comparison of unions that caches the results for their parts."""

    __slots__ = ("_different", "_same", "_steps")

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._same: set[tuple[Node, Node]] = set()
        self._different: set[tuple[Node, Node]] = set()

    def holds(self, writer: Union, reader: Union) -> bool:
        """Return True if the two are equivalent to Avro."""
        if len(writer.branches) != len(reader.branches):
            return False
        self._steps.take(len(writer.branches))
        unequal = False
        for w, r in zip(writer.branches, reader.branches, strict=True):
            if w is r:
                continue
            if w.__class__ is not r.__class__:
                return False
            if w.__class__ is Primitive:
                if w.kind != r.kind:  # type: ignore[attr-defined]  # Primitives, both
                    return False
            elif not w.digest or w.digest != r.digest:
                unequal = True
        return self._compare(writer, reader) if unequal else True

    def _compare(self, writer: Node, reader: Node) -> bool:
        passed: set[tuple[Node, Node]] = set()
        ahead: list[_Link] = [(writer, reader, None)]
        while ahead:
            link = ahead.pop()
            pair = link[:2]
            if pair in passed or pair in self._same:
                continue
            parts = _DIFFERENT
            if pair not in self._different:
                self._steps.take(PER_PAIR + width(pair[0]))
                parts = _parts(*pair)
            if parts is None:
                self._refute(link)
                return False
            passed.add(pair)
            ahead += [(w, r, link) for w, r in parts if w is not r and not (w.digest and w.digest == r.digest)]
        self._same |= passed
        return True

    def _refute(self, link: "_Link | None") -> None:
        """Mark all pairs that contain a different part as different, so that they are not compared again."""
        while link is not None:
            self._different.add(link[:2])
            link = link[2]


def width(node: Node) -> int:
    """Return the number of fields, branches or symbols of a type, 1 for other types."""
    if isinstance(node, Record):
        return len(node.fields)
    return len(node.branches) if isinstance(node, Union) else len(node.symbols) if isinstance(node, Enum) else 1


def _parts(writer: Node, reader: Node) -> Iterable[tuple[Node, Node]] | None:
    """Return the pairs of parts that must be equivalent for the two to be, or None if the two differ by themselves."""
    if writer.__class__ is not reader.__class__:
        return _DIFFERENT
    if writer.digest and writer.digest == reader.digest:
        return ()
    return _PARTS[writer.__class__](writer, reader)


def _primitives(writer: Primitive, reader: Primitive) -> Iterable[tuple[Node, Node]] | None:
    return () if writer.kind == reader.kind else _DIFFERENT


def _enums(writer: Enum, reader: Enum) -> Iterable[tuple[Node, Node]] | None:
    same = writer.simple_name == reader.simple_name and writer.symbols == reader.symbols
    return () if same else _DIFFERENT


def _fixeds(writer: Fixed, reader: Fixed) -> Iterable[tuple[Node, Node]] | None:
    same = writer.simple_name == reader.simple_name and writer.size == reader.size
    return () if same else _DIFFERENT


def _records(writer: Record, reader: Record) -> Iterable[tuple[Node, Node]] | None:
    if writer.simple_name != reader.simple_name or [f.name for f in writer.fields] != [f.name for f in reader.fields]:
        return _DIFFERENT
    return _children(writer, reader)


def _children(writer: Node, reader: Node) -> Iterable[tuple[Node, Node]] | None:
    parts, others = writer.children, reader.children
    return zip(parts, others, strict=True) if len(parts) == len(others) else _DIFFERENT


_PARTS: Final[Mapping[type[Node], Callable[[Any, Any], Iterable[tuple[Node, Node]] | None]]] = {
    Primitive: _primitives,
    Enum: _enums,
    Fixed: _fixeds,
    Union: _children,
    Record: _records,
    Array: _children,
    Map: _children,
}
