"""Index of the records in a reader's unions, so that a writer's record is not tried with every branch as in Avro.

The index has the result of these trials, if a trial has no effect on others: in schemas with independent parts
(`graph.traits`).
"""

from collections.abc import Iterator
from typing import Final, cast

from topicschema.core.formats.avro.graph.traits import has_independent_parts
from topicschema.core.formats.avro.model import Node, Record, Union
from topicschema.core.steps import PER_PAIR, Steps

_FEW: Final = 3
"""The number of branches that can be tried as fast as the index can be made."""


class BranchIndex:
    """The index of all unions in one reader's schema, which the comparisons with the same steps share."""

    __slots__ = ("_root", "_steps")

    def __init__(self, root: Node, steps: Steps) -> None:
        self._root = root
        self._steps = steps

    def same_name(self, writer: Record, reader: Union) -> Record | None:
        """Return the branch of the writer's full name.

        Return None if there is none, and if a trial of the earlier branches may have an effect.
        """
        records = self._of(reader)
        return None if records is None else records.by_name.get(writer.full_name)

    def candidates(self, writer: Record, reader: Union) -> Iterator[Record] | None:
        """Return the branches for a record whose name no branch has, in an order in which the first that fits counts.

        Return None if each branch must be tried because of its effects.
        """
        records = self._of(reader)
        return None if records is None else records.candidates(writer.simple_name)

    def _of(self, union: Union) -> "_Records | None":
        if len(union.branches) <= _FEW:
            return None
        cached = self._steps.union_records
        if union not in cached:
            self._steps.take(PER_PAIR + 4 * len(union.branches))
            cached[union] = _Records(union) if has_independent_parts(self._root) else None
        return cast("_Records | None", cached[union])


class _Records:
    """A union's records, by full name and by simple name."""

    __slots__ = ("_all", "_by_simple_name", "by_name")

    def __init__(self, union: Union) -> None:
        self._all = [branch for branch in union.branches if isinstance(branch, Record)]
        self.by_name = {record.full_name: record for record in self._all}
        self._by_simple_name: dict[str, list[Record]] = {}
        for record in reversed(self._all):
            self._by_simple_name.setdefault(record.simple_name, []).append(record)

    def candidates(self, simple_name: str) -> Iterator[Record]:
        """Yield those of the simple name, the last first, then all."""
        yield from self._by_simple_name.get(simple_name, ())
        yield from self._all
