"""Shortcuts for comparisons with a known result: equal parts, pairs compared before, union branches chosen by name.

Each shortcut returns the result that the comparison would return. So tangled schemas, where the order of comparing
records matters, have no shortcuts. Branches are chosen by name in straight schemas only, and only results for plain
schemas are stored (`graph.traits`).
"""

import heapq
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from collections.abc import Set as AbstractSet
from typing import Final, cast

from topicschema.core.formats.avro.graph.traits import is_straight
from topicschema.core.formats.avro.model import ABSENT, Node, Primitive, Record, SchemaTraits, Union
from topicschema.core.formats.avro.resolution.promotions import READ_BY
from topicschema.core.steps import PER_PAIR, Steps

_FEW: Final = 3
"""The number of branches that can be tried as fast as the shortcut can be computed."""
TOLD: Final = 2
"""The number of records in a message that did not take another one, with the reasons: the first of the union."""


class Shortcuts:
    """The shortcuts in comparisons with one reader's schema."""

    __slots__ = ("_lore", "_root", "_steps")

    def __init__(self, root: Node, traits: SchemaTraits, steps: Steps) -> None:
        self._root = root
        self._lore = traits
        self._steps = steps

    def is_readable(self, writer: Record, reader: Record) -> bool:
        """Return True if the whole of the writer's record is known to be readable."""
        if self._lore.is_tangled or not writer.digest:
            return writer is reader and not self._lore.is_tangled
        return writer.digest == reader.digest or (writer.digest, reader) in self._steps.readable_pairs

    def remember(self, writer: Record, reader: Record) -> None:
        """Store that the whole of the writer's record is readable: in a long history, the same pair occurs often."""
        if writer.digest and not self._lore.is_aliased and self._is_straight():
            self._steps.readable_pairs.add((writer.digest, reader))

    def unsettled(self, writer: Union, reader: Union) -> "list[Node] | None":
        """Return the writer's branches that are not known to be readable, or None if there is no shortcut.

        If a branch is known to be readable, nothing depends on the order in which the others are compared.
        """
        records = self._of(reader)
        if records is None:
            return None
        left: list[Node] = []
        for branch in [each for each in writer.branches if each not in records.nodes]:
            alike = records.by_name.get(branch.full_name) if isinstance(branch, Record) else None
            if alike is None or not self.is_readable(branch, alike):  # type: ignore[arg-type]  # a Record
                left.append(branch)
        return left

    def branch(self, writer: Record, reader: Union) -> Record | None:
        """Return the branch of the writer's full name, or None.

        Also return None if a trial of the earlier branches, as in Avro, may have an effect.
        """
        records = self._of(reader)
        return None if records is None else records.by_name.get(writer.full_name)

    def candidate_branches(self, writer: Record, reader: Union) -> "Iterator[Record] | None":
        """Return the branches that may take a record whose name no branch has, those of its simple name first.

        The first that takes it is the one that Avro chooses. Return None if each must be tried because of its effects.
        """
        records = self._of(reader)
        return None if records is None else records.candidate_branches(writer, self._steps)

    def _of(self, union: Union) -> "_Records | None":
        """Return the index of the union's records in straight schemas, or None. The index is cached."""
        if len(union.branches) <= _FEW or not self._is_straight():
            return None
        found = self._steps.union_records
        if union not in found:
            found[union] = _Records(union, self._steps)
        return cast("_Records", found[union])

    def _is_straight(self) -> bool:
        if self._lore.is_straight is None:
            self._lore.is_straight = is_straight(self._root)
        return self._lore.is_straight


class _Records:
    """A union's records, indexed to exclude without a comparison those that cannot take another record.

    The steps refer to the index, so the index does not refer to the steps.
    """

    def __init__(self, union: Union, steps: Steps) -> None:
        steps.take(PER_PAIR + 4 * len(union.branches))
        self.nodes = frozenset(union.branches)
        self._all = [branch for branch in union.branches if isinstance(branch, Record)]
        self.by_name = {record.full_name: record for record in self._all}
        self._takers: _BranchIndex | None = None
        self._namesakes: dict[str, _BranchIndex] | None = None

    def candidate_branches(self, writer: Record, steps: Steps) -> Iterator[Record]:
        """Yield those of the writer's simple name, the last first, then all, then the first two for the message."""
        offered = _offered(writer)
        steps.take(len(offered))
        if self._namesakes is None:
            self._namesakes = self._by_simple_name(steps)
        if writer.simple_name in self._namesakes:
            yield from self._namesakes[writer.simple_name].of(offered, steps)
        if self._takers is None:
            self._takers = _BranchIndex(self._all, steps)
        yield from self._takers.of(offered, steps)
        yield from self._all[:TOLD]

    def _by_simple_name(self, steps: Steps) -> "dict[str, _BranchIndex]":
        alike: dict[str, list[Record]] = {}
        for record in reversed(self._all):
            alike.setdefault(record.simple_name, []).append(record)
        return {name: _BranchIndex(records, steps) for name, records in alike.items()}


_Requirement = tuple[str, str | None]
"""A required field: its name, and the kind if its type is a primitive."""


class _BranchIndex:
    """Records, one of each shape, indexed by the fields that they require."""

    __slots__ = ("_demanding", "_demands", "_shapes")

    def __init__(self, records: Collection[Record], steps: Steps) -> None:
        steps.take(2 * PER_PAIR + sum(PER_PAIR + 4 * len(record.fields) for record in records))  # the index is large
        shapes: dict[object, Record] = {}
        for record in records:
            shapes.setdefault(_shape(record), record)
        self._shapes = list(shapes.values())
        self._demands = [_demands(record) for record in self._shapes]
        self._demanding: dict[_Requirement | None, list[int]] = {}
        often = Counter(each for demands in self._demands for each in demands)
        for index, demands in enumerate(self._demands):
            rarest = min(demands, key=often.__getitem__, default=None)
            self._demanding.setdefault(rarest, []).append(index)

    def of(self, offered: AbstractSet[_Requirement], steps: Steps) -> Iterator[Record]:
        """Yield the records that require no more than `offered`, in order."""
        for index in heapq.merge(*(self._demanding.get(each, ()) for each in (None, *offered))):
            steps.take(1 + len(self._demands[index]))
            if self._demands[index] <= offered:
                yield self._shapes[index]


def _demands(record: Record) -> set[_Requirement]:
    return {
        (each.name, each.type.kind if isinstance(each.type, Primitive) else None)
        for each in record.fields
        if each.default is ABSENT
    }


def _offered(writer: Record) -> set[_Requirement]:
    """Return all requirements that the writer's fields may meet."""
    offered: set[_Requirement] = set()
    for each in writer.fields:
        kinds: Iterable[str] = ()
        if isinstance(each.type, Primitive):
            kinds = READ_BY[each.type.kind]
        elif isinstance(each.type, Union):  # Avro compares the union only after choosing the record
            kinds = READ_BY
        offered.add((each.name, None))
        offered.update((each.name, kind) for kind in kinds)
    return offered


def _shape(record: Record) -> object:
    """Return a key that is equal for records that take the same records.

    A record with fields that are no primitives is its own key.
    """
    parts = []
    for each in record.fields:
        if not isinstance(each.type, Primitive):
            return record
        parts.append((each.name, each.type.kind, each.default is ABSENT))
    return tuple(parts)
