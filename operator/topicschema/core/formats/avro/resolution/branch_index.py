"""What need not be compared because the answer is known: equal parts, pairs met before, union branches told by name.

Each of these gives the answer that comparing would have given; so nothing is taken for known in tangled schemas, where
it matters in which order records are compared, branches are told by name in straight ones only, and nothing is
remembered of schemas that are not plain (`survey`).
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
"""So many branches are tried as fast as it is found out that they need not be."""
TOLD: Final = 2
"""Of so many records that did not take another one it is told why: the first of the union."""


class Shortcuts:
    """The shortcuts in comparing with one reader's schema."""

    __slots__ = ("_lore", "_root", "_steps")

    def __init__(self, root: Node, traits: SchemaTraits, steps: Steps) -> None:
        self._root = root
        self._lore = traits
        self._steps = steps

    def is_readable(self, writer: Record, reader: Record) -> bool:
        """Whether it is known that all of the writer's record can be read."""
        if self._lore.is_tangled or not writer.digest:
            return writer is reader and not self._lore.is_tangled
        return writer.digest == reader.digest or (writer.digest, reader) in self._steps.readable_pairs

    def remember(self, writer: Record, reader: Record) -> None:
        """Take note that all of the writer's record can be read: in a long history the same two meet often."""
        if writer.digest and not self._lore.is_aliased and self._is_straight():
            self._steps.readable_pairs.add((writer.digest, reader))

    def unsettled(self, writer: Union, reader: Union) -> "list[Node] | None":
        """The writer's branches of which it is not known that all can be read; None where nothing is looked up.

        Where it is known of any, nothing depends on the order in which the others are compared.
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
        """The branch of the writer's full name, where nothing can come of trying those before it, as Avro does."""
        records = self._of(reader)
        return None if records is None else records.by_name.get(writer.full_name)

    def candidate_branches(self, writer: Record, reader: Union) -> "Iterator[Record] | None":
        """The branches that may take a record that none is called like, those of its simple name first.

        The first that takes it is the one that Avro comes to. None where each must be tried, for what trying it leaves.
        """
        records = self._of(reader)
        return None if records is None else records.candidate_branches(writer, self._steps)

    def _of(self, union: Union) -> "_Records | None":
        """What is known of the union's records, in straight schemas; it is found out once."""
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
    """A union's records, by what tells without a comparison that they cannot take another record.

    The steps hold it, so it does not hold them.
    """

    def __init__(self, union: Union, steps: Steps) -> None:
        steps.take(PER_PAIR + 4 * len(union.branches))
        self.nodes = frozenset(union.branches)
        self._all = [branch for branch in union.branches if isinstance(branch, Record)]
        self.by_name = {record.full_name: record for record in self._all}
        self._takers: _BranchIndex | None = None
        self._namesakes: dict[str, _BranchIndex] | None = None

    def candidate_branches(self, writer: Record, steps: Steps) -> Iterator[Record]:
        """Those of the writer's simple name, the last first, then all; and the first two, whose faults are told."""
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
"""A field that must be there: its name, and the kind of a primitive."""


class _BranchIndex:
    """Records, one of each shape, to be found by the fields that they cannot do without."""

    __slots__ = ("_demanding", "_demands", "_shapes")

    def __init__(self, records: Collection[Record], steps: Steps) -> None:
        steps.take(2 * PER_PAIR + sum(PER_PAIR + 4 * len(record.fields) for record in records))  # it is large
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
        """Those that demand no more than this, in order."""
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
    """All demands that the writer's fields may meet."""
    offered: set[_Requirement] = set()
    for each in writer.fields:
        kinds: Iterable[str] = ()
        if isinstance(each.type, Primitive):
            kinds = READ_BY[each.type.kind]
        elif isinstance(each.type, Union):  # what of it can be read is not asked before a branch is chosen
            kinds = READ_BY
        offered.add((each.name, None))
        offered.update((each.name, kind) for kind in kinds)
    return offered


def _shape(record: Record) -> object:
    """What records have alike of which each takes what the other takes; a record of more than primitives is alone."""
    parts = []
    for each in record.fields:
        if not isinstance(each.type, Primitive):
            return record
        parts.append((each.name, each.type.kind, each.default is ABSENT))
    return tuple(parts)
