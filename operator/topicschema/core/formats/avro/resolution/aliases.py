"""Aliases: the writer's schema as the reader's aliases rename it (Schema.applyAliases).

A field alias applies to the writer's record that has, after renaming, the full name of the reader's record. If the
reader has any alias, Avro rebuilds all of the writer's records and checks their defaults. It also checks names again,
without the validator that the broker sets for its parser: on 1.12 a parsed name may contain `$`, a rebuilt one may not.
"""

from dataclasses import dataclass, field
from typing import Any

from topicschema.core.formats.avro.avro_version import Library
from topicschema.core.formats.avro.graph.trampoline import Computation, run
from topicschema.core.formats.avro.model import (
    ABSENT,
    Array,
    Enum,
    Field,
    Fixed,
    Map,
    Named,
    Node,
    Primitive,
    Record,
    Union,
)
from topicschema.core.formats.avro.names import shown
from topicschema.core.formats.avro.parsing.defaults import DefaultsChecker
from topicschema.core.formats.avro.resolution.findings import Fault, ReadingRule
from topicschema.core.steps import PER_PAIR, Steps


def apply(writer: Node, reader: Node, library: Library, steps: Steps) -> tuple[Node, list[Fault]]:
    """Return the writer with the reader's names, and the faults, in Avro's order.

    Faults are renames that fail, and errors on which Avro throws. `writer` itself is not changed; it is returned if no
    alias applies to it.
    """
    renames = _Renames()
    renames.collect(reader, steps)
    if not (renames.types or renames.fields):
        return writer, []
    checker = DefaultsChecker(library, steps)
    if _is_left_alone(writer, renames, checker, steps):
        return writer, []
    view = _View(renames, reader, checker, steps)
    renamed = run(view.rename(writer))
    return renamed if view.changed else writer, view.faults


@dataclass(slots=True)
class _Renames:
    """The reader's types and fields by their aliases: types by full name, fields by record and name."""

    types: dict[str, Named] = field(default_factory=dict)
    fields: dict[str, dict[str, Field]] = field(default_factory=dict)

    def collect(self, root: Node, steps: Steps) -> None:
        """Collect the aliases of a schema in Avro's order, where a later one wins."""
        visited: set[Record] = set()
        aliased: dict[Named, None] = {}  # in the order of their last places
        ahead: list[Any] = [root]
        while ahead:
            node = ahead.pop()
            steps.take()
            if node.__class__ is tuple:
                record, each = node
                self._collect_field(record, each, ahead)
                continue
            if isinstance(node, Named) and node.aliases:
                aliased.pop(node, None)
                aliased[node] = None
            if node.__class__ is not Record:
                ahead += reversed(node.children)
            elif node not in visited:
                visited.add(node)
                steps.take(len(node.fields))
                ahead.append((node, None))
                ahead += [(node, each) for each in reversed(node.fields) if _may_have_alias(each)]
        for named in aliased:
            self.types.update(dict.fromkeys(named.aliases, named))

    def _collect_field(self, record: Record, each: Field | None, ahead: list[Any]) -> None:
        """Collect the aliases of one field of the record. None represents the record's end."""
        if each is not None:
            for alias in each.aliases:
                self.fields.setdefault(record.full_name, {})[alias] = each
            ahead.append(each.type)
        elif record.full_name in self.fields:
            for alias in record.aliases:
                # The same dictionary, as in Avro: a later entry under either name is visible under both.
                self.fields[alias] = self.fields[record.full_name]


def _may_have_alias(each: Field) -> bool:
    return bool(each.aliases) or each.type.__class__ is not Primitive


def _is_left_alone(writer: Node, renames: _Renames, checker: DefaultsChecker, steps: Steps) -> bool:
    """Return True if a cheap check shows that nothing in the writer is renamed and nothing is invalid."""
    visited: set[Record] = set()
    ahead: list[Node] = [writer]
    while ahead:
        node = ahead.pop()
        steps.take()
        if isinstance(node, Named) and node.full_name in renames.types:
            return False
        if not isinstance(node, Record):
            ahead += node.children
        elif node not in visited:
            visited.add(node)
            if "$" in node.simple_name or not _are_left_alone(node, renames, checker, steps):
                return False
            ahead += [each.type for each in node.fields if each.type.__class__ is not Primitive]
    return True


def _are_left_alone(record: Record, renames: _Renames, checker: DefaultsChecker, steps: Steps) -> bool:
    """Return True if the check shows this for the record's fields."""
    steps.take(2 * len(record.fields))
    targets = renames.fields.get(record.full_name, {})
    for each in record.fields:
        if each.name in targets or "$" in each.name:
            return False
    return all(each.default is ABSENT or checker.error(each) is None for each in record.fields)


class _View:
    """A copy of a writer's schema with the reader's names."""

    def __init__(self, renames: _Renames, reader: Node, checker: DefaultsChecker, steps: Steps) -> None:
        self._steps = steps
        self.changed = False
        self.faults: list[Fault] = []
        self._renames = renames
        self._reader = reader
        self._checker = checker
        self._copies: dict[Named, Named] = {}

    def rename(self, node: Node) -> Computation[Node]:
        """Return the copy of `node`. A named type is copied once."""
        renamed: Node = node
        if isinstance(node, Record):
            renamed = self._copies.get(node) or (yield self._record(node))
        elif isinstance(node, Enum | Fixed):
            renamed = self._copies.get(node) or self._leaf(node)
        elif isinstance(node, Array):
            renamed = Array(path=node.path, props=node.props, items=(yield self.rename(node.items)))
        elif isinstance(node, Map):
            renamed = Map(path=node.path, props=node.props, values=(yield self.rename(node.values)))
        elif isinstance(node, Union):
            renamed = yield self._union(node)
        return renamed

    def _leaf(self, node: Enum | Fixed) -> Enum | Fixed:
        name, props, aliases, doc = self._name(node), node.props, node.aliases, node.doc
        made: Enum | Fixed
        if isinstance(node, Fixed):
            made = Fixed(path=node.path, props=props, full_name=name, aliases=aliases, doc=doc, size=node.size)
        else:
            made = Enum(path=node.path, props=props, full_name=name, aliases=aliases, doc=doc, symbols=node.symbols)
            made.default = node.default
        self._copies[node] = made
        if node.full_name in self._renames.types:
            self._check_names(node, made.simple_name, *(node.symbols if isinstance(node, Enum) else ()))
        return made

    def _check_names(self, node: Node | Field, *texts: str) -> None:
        refused = next((text for text in texts if "$" in text), None)
        if refused is not None:
            self.faults.append(Fault(ReadingRule.DOLLAR_IN_NAME, self._reader, node, shown(refused)))

    def _name(self, node: Named) -> str:
        target = self._renames.types.get(node.full_name)
        if target is None:
            return node.full_name
        self.changed |= target.full_name != node.full_name
        return target.full_name

    def _union(self, node: Union) -> Computation[Union]:
        branches: list[Node] = []
        first: dict[str, Named] = {}
        alike: list[Named] = []
        for branch in node.branches:
            if branch.__class__ is Primitive:
                branches.append(branch)
                continue
            renamed = yield self.rename(branch)
            branches.append(renamed)
            if isinstance(branch, Named):
                other = first.setdefault(renamed.full_name, branch)
                if other is not branch:
                    alike.append(branch if branch.full_name in self._renames.types else other)
        for each in alike:
            self.faults.append(Fault(ReadingRule.ALIAS_CONFLICT, self._renames.types[each.full_name], each))
        return Union(path=node.path, props=node.props, branches=tuple(branches))

    def _record(self, node: Record) -> Computation[Record]:
        renamed = self._copies[node] = Record(
            path=node.path,
            props=node.props,
            full_name=self._name(node),
            aliases=node.aliases,
            doc=node.doc,
        )
        self._check_names(node, renamed.simple_name)
        self._steps.take(PER_PAIR + len(node.fields))
        targets = self._renames.fields.get(renamed.full_name, {})
        taken = {each.name for each in node.fields if each.name not in targets}
        made: list[tuple[Field, int]] = []
        alike: list[Fault] = []
        for each in node.fields:
            kind = each.type if each.type.__class__ is Primitive else (yield self.rename(each.type))
            target, name = targets.get(each.name), each.name
            if target is not None and target.name in taken:
                alike.append(Fault(ReadingRule.ALIAS_CONFLICT, target, each))
            elif target is not None:
                name = target.name
                taken.add(name)
            made.append((self._field(each, kind, name), len(self.faults)))
        renamed.fields = tuple(each for each, _ in made)
        self._check_defaults(made)
        self.faults += alike
        return renamed

    def _field(self, each: Field, kind: Node, name: str) -> Field:
        self.changed |= name != each.name
        self._check_names(each, name)
        if name == each.name and kind is each.type:
            return each
        made = Field(name=name, type=kind, path=each.path, default=each.default, order=each.order)
        made.aliases, made.doc, made.props = each.aliases, each.doc, each.props
        return made

    def _check_defaults(self, made: list[tuple[Field, int]]) -> None:
        """Insert the faults of the defaults at their places in Avro's order.

        Avro checks a default as soon as its field exists. Here the check is later, when the records that the default
        contains are complete.
        """
        for each, place in reversed(made):
            error = None if each.default is ABSENT else self._checker.error(each)
            if error is not None:
                self.faults.insert(place, Fault(ReadingRule.INVALID_WRITER_DEFAULT, self._reader, each, error.message))
