"""Selection of the branch of a reader's union for a writer's type, as Resolver.resolve chooses it for readable schemas.

The order of choice: the same kind, with a record, enum or fixed by its full name or an alias; else a record by its
fields; a promotion last.
"""

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Final

from topicschema.core.formats.avro.avro_version import Library
from topicschema.core.formats.avro.graph.traits import traits_of
from topicschema.core.formats.avro.model import Named, Node, Primitive, Record, Union
from topicschema.core.formats.avro.resolution import aliases
from topicschema.core.formats.avro.resolution.promotions import READ_BY
from topicschema.core.formats.avro.resolution.resolver import Resolution
from topicschema.core.steps import PER_TRY, Steps

_PER_NAME: Final = 5


def is_called(writer: Named, reader: Named) -> bool:
    """Return True if the reader's type has the writer's full name as its name or as an alias."""
    return writer.full_name == reader.full_name or writer.full_name in reader.aliases


class Choices:
    """The choices within two schemas. The data of each union and each pair of records is cached."""

    def __init__(self, reader: Node, writer: Node, library: Library, steps: Steps) -> None:
        self._reader = reader
        self._writer = writer
        self._library = library
        self._steps = steps
        self._branches: dict[Union, _Branches] = {}
        self._chosen: dict[tuple[Record, Union], Record | None] = {}

    def branch(self, reader: Union, writer: Node) -> Node | None:
        """Return the branch, or None if there is none."""
        branches = self._branches.get(reader)
        if branches is None:
            branches = self._branches[reader] = _Branches(reader, self._steps)
        if isinstance(writer, Primitive):
            return branches.primitive(writer.kind)
        if not isinstance(writer, Named):
            return branches.first.get(type(writer))
        named = branches.named.get((type(writer), writer.full_name))
        if named is None and isinstance(writer, Record):
            key = writer, reader
            if key not in self._chosen:
                self._chosen[key] = self._by_structure(writer, reader, branches.records)
            return self._chosen[key]
        return named

    def _by_structure(self, writer: Record, reader: Union, records: Iterable[Record]) -> Record | None:
        """Return the branch that takes a record because of its fields: the last of its simple name, else the first."""
        candidates = self._trials.candidates(writer, reader)
        if candidates is not None:
            return next((branch for branch in candidates if self._trials.fits(branch, writer)), None)
        fitting = [branch for branch in records if self._trials.fits(branch, writer)]
        same = [branch for branch in fitting if branch.simple_name == writer.simple_name]
        return same[-1] if same else fitting[0] if fitting else None

    @cached_property
    def _trials(self) -> "_Trials":
        return _Trials(self._reader, self._writer, self._library, self._steps)


class _Branches:
    """A union's branches, indexed by kind and name."""

    def __init__(self, union: Union, steps: Steps) -> None:
        steps.take(_PER_NAME * len(union.branches))
        self.first: dict[type[Node], Node] = {}
        self.named: dict[tuple[type[Node], str], Named] = {}
        self.records: list[Record] = []
        self._primitives: dict[str, Primitive] = {}
        for branch in union.branches:
            self.first.setdefault(type(branch), branch)
            if isinstance(branch, Primitive):
                self._primitives.setdefault(branch.kind, branch)
            elif isinstance(branch, Named):
                steps.take(_PER_NAME * len(branch.aliases))
                for name in (branch.full_name, *branch.aliases):
                    self.named.setdefault((type(branch), name), branch)
                if isinstance(branch, Record):
                    self.records.append(branch)

    def primitive(self, kind: str) -> Primitive | None:
        promoted = (branch for name, branch in self._primitives.items() if name in READ_BY[kind])
        return self._primitives.get(kind) or next(promoted, None)


class _Trials:
    """Trials of a reader's records on a writer's records; each pair is compared once."""

    def __init__(self, reader: Node, writer: Node, library: Library, steps: Steps) -> None:
        self._steps = steps
        self._fits: dict[tuple[Record, Record], bool] = {}
        self._resolution = Resolution(reader, library, steps)
        renamed = aliases.apply(writer, reader, library, steps)[0] if traits_of(reader).is_aliased else writer
        self._renamed = {} if renamed is writer else {each.path: each for each in _records(renamed)}

    def candidates(self, writer: Record, reader: Union) -> Iterator[Record] | None:
        """Return `BranchIndex.candidates`."""
        return self._resolution.branch_index.candidates(writer, reader)

    def fits(self, reader: Record, writer: Record) -> bool:
        self._steps.take(PER_TRY)
        key = writer, reader
        if key not in self._fits:
            answer = self._resolution.resolve(self._renamed.get(writer.path, writer), reader)
            self._fits[key] = answer is None
        return self._fits[key]


def _records(root: Node) -> set[Record]:
    visited: set[Node] = set()
    ahead = [root]
    while ahead:
        node = ahead.pop()
        if node not in visited:
            visited.add(node)
            ahead += node.children
    return {node for node in visited if isinstance(node, Record)}
