"""Traits of a whole schema that a comparison depends on: aliases and recursive records.

An infinite record directly contains itself, with no union, array or map in between, so no finite datum has its type.
Records are recursive through fields if they have a cycle of any kind, with a field in it whose type is itself a record;
infinite records are among them. A schema has independent parts if it has no cycle, and no default that one of the Avro
libraries may fail to encode. So comparing a part of it has no effect on other comparisons.
"""

from collections.abc import Iterable
from typing import Any

from topicschema.core.formats.avro.graph import cycles
from topicschema.core.formats.avro.model import Enum, Fixed, Node, Primitive, Record, SchemaTraits
from topicschema.core.formats.avro.resolution.default_encoding import can_insert
from topicschema.core.steps import PER_DEFAULT, Steps


def traits_of(root: Node) -> SchemaTraits:
    """Return the traits of the schema. They are cached."""
    if root.traits is not None:
        return root.traits
    walk = _Walk()
    records = walk.new_records(root)
    is_cyclic = walk.has_met_again and _is_cyclic(records)
    root.traits = SchemaTraits(
        is_aliased=walk.has_met_alias or any(field.aliases for record in records for field in record.fields),
        is_cyclic=is_cyclic,
        is_recursive_through_fields=is_cyclic and _is_recursive_through_fields(records),
    )
    return root.traits


def has_independent_parts(root: Node) -> bool:
    """Return True if comparing a part of the schema has no effect on other comparisons. The result is cached."""
    traits = traits_of(root)
    if traits.has_independent_parts is None:
        fields = (field for record in _Walk().new_records(root) for field in record.fields)
        traits.has_independent_parts = not traits.is_cyclic and can_insert(fields)
    return traits.has_independent_parts


class _Walk:
    """A walk over schemas that visits each record once."""

    __slots__ = ("has_met_again", "has_met_alias", "visited")

    def __init__(self) -> None:
        self.has_met_again = False
        """True if a record was met twice, as in every cycle."""
        self.has_met_alias = False
        """True if a named type has an alias."""
        self.visited: set[Record] = set()

    def new_records(self, root: Node) -> list[Record]:
        """Return the records of a schema that were not visited before."""
        records: list[Record] = []
        stack: list[Any] = [root]
        while stack:
            node = stack.pop()
            kind = node.__class__
            if kind is Primitive:
                continue
            if kind is Record or kind is Enum or kind is Fixed:
                if node.aliases:
                    self.has_met_alias = True
                if kind is Record:
                    if node in self.visited:
                        self.has_met_again = True
                        continue
                    self.visited.add(node)
                    records.append(node)
            stack += node.children
        return records


class InfiniteRecords:
    """A search for infinite records within parts of schemas, which visits each record once."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._walk = _Walk()
        self._nearest: dict[Record, Record] = {}
        """The nearest infinite record of each visited record that is infinite or leads to an infinite one."""
        self._known: dict[Node, Record | None] = {}

    def within(self, root: Node) -> Record | None:
        """Return a record within `root`, at any depth, that directly contains itself, or None."""
        if root not in self._known:
            self._known[root] = self._find(root)
        return self._known[root]

    def _find(self, root: Node) -> Record | None:
        held = _held([root])
        self._steps.take(len(held))
        for record in held:
            if record not in self._walk.visited:
                self._walk.has_met_again = False
                records = self._walk.new_records(record)
                self._steps.take(PER_DEFAULT * len(records))
                is_alone = len(records) == 1 and not self._nearest and record not in _direct(record)
                if self._walk.has_met_again and not is_alone:
                    self._trace_back(records)
            if record in self._nearest:
                return self._nearest[record]
        return None

    def _trace_back(self, records: list[Record]) -> None:
        """Store which of the new records lead to an infinite one, each with the nearest."""
        behind: dict[Record, list[Record]] = {}
        for record in records:
            for held in _held(record.children):
                behind.setdefault(held, []).append(record)
        self._nearest.update((record, record) for record in _on_direct_cycles(records))
        reached = [record for record in behind if record in self._nearest]
        for record in reached:  # the loop extends it
            for holder in behind.get(record, ()):
                if holder not in self._nearest:
                    self._nearest[holder] = self._nearest[record]
                    reached.append(holder)


def _is_cyclic(records: list[Record]) -> bool:
    return cycles.find(records, lambda record: [*_held(record.children)]) is not None


def _direct(record: Record) -> list[Record]:
    return [field.type for field in record.fields if isinstance(field.type, Record)]


def _on_direct_cycles(records: list[Record]) -> list[Record]:
    """Return the records that directly contain themselves through these records alone."""
    inside = set(records)
    direct = {record: [each for each in _direct(record) if each in inside] for record in records}
    return [each for some in cycles.components(direct) for each in some if len(some) > 1 or each in direct[each]]


def _is_recursive_through_fields(records: list[Record]) -> bool:
    """Return True if a direct field remains without the records that lead to no cycle or that no cycle leads to."""
    ahead = {record: set(_held(record.children)) for record in records}
    behind: dict[Record, set[Record]] = {record: set() for record in records}
    for record, held in ahead.items():
        for each in held:
            behind[each].add(record)
    _peel(ahead, behind)
    _peel(behind, ahead)
    return any(each in ahead for record in ahead for each in _direct(record))


def _held(nodes: Iterable[Node]) -> dict[Record, None]:
    """Return the nearest records: the nodes themselves, and those with no other record in between."""
    held: dict[Record, None] = {}
    stack = [*nodes]
    while stack:
        node = stack.pop()
        if isinstance(node, Record):
            held[node] = None
        else:
            stack += node.children
    return held


def _peel(edges: dict[Record, set[Record]], others: dict[Record, set[Record]]) -> None:
    """Remove records without an edge until all others have one. `others` are the same edges, reversed."""
    loose = [record for record, held in edges.items() if not held]
    while loose:
        record = loose.pop()
        for each in others.pop(record):
            edges[each].discard(record)
            if not edges[each]:
                loose.append(each)
        del edges[record]
