"""Validation of defaults as in Avro 1.12: a union's default may fit any branch (Schema.isValidDefault, isValidValue).

Avro 1.12 validates defaults again when it resolves names that were used before their definition (SchemaResolver,
Schemas.visit). This module follows its order: Avro copies record by record, and throws on a default that reads a record
whose copy is incomplete.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats.avro.graph.trampoline import Step, run
from topicschema.core.formats.avro.model import ABSENT, Array, Field, Map, Named, Node, Record, Union
from topicschema.core.formats.avro.parsing import scalar_defaults
from topicschema.core.steps import Steps

_MOST_VISITS: Final = 1_000_000
"""The maximum number of visits. A text that needs more is refused.

Avro walks over the whole schema again for each name that is used before its definition.
"""


class IncompleteError(Exception):
    """A default that reads an incomplete record or itself, so that Avro throws."""


class Fitting:
    """A check of values against types that checks each pair once.

    `is_open` returns True for a record that is not complete yet. `ahead` are the places, as JSON paths, that name a
    type before its definition; each counts as a record without fields.
    """

    def __init__(
        self, is_open: Callable[[Record], bool], ahead: frozenset[str] = frozenset(), steps: Steps | None = None
    ) -> None:
        self._steps = steps
        self.has_met_record = False
        self._is_open = is_open
        self._ahead = ahead
        self._known: dict[tuple[int, int], bool | None] = {}

    def fits(self, field: Field) -> bool:
        """Return True if the field's default fits its type. Raise IncompleteError where Avro throws."""
        return run(self._at(f"{field.path}.type", field.type, field.default))

    def _at(self, place: str, node: Node, value: Any) -> Step[bool]:
        if place in self._ahead:
            self.has_met_record = True
            return isinstance(value, dict)
        key = id(node), id(value)
        if key not in self._known:
            if self._steps:
                self._steps.take(3)
            self._known[key] = None
            self._known[key] = yield self._of_value(node, value)
        known = self._known[key]
        if known is None:  # the value leads back to itself through a record's own default
            raise IncompleteError
        return known

    def _of_value(self, node: Node, value: Any) -> Step[bool]:
        fits: bool
        if isinstance(node, Record):
            fits = yield self._record(node, value)
        elif isinstance(node, Union):
            fits = yield self._any(node, value)
        elif scalar_defaults.expected(node, value) is not None:
            fits = False
        elif isinstance(node, Array):
            fits = yield self._all(f"{node.path}.items", node.items, value)
        elif isinstance(node, Map):
            fits = yield self._all(f"{node.path}.values", node.values, value.values())
        else:
            fits = True
        return fits

    def _any(self, node: Union, value: Any) -> Step[bool]:
        for index, branch in enumerate(node.branches):
            if (yield self._at(f"{node.path}[{index}]", branch, value)):
                return True
        return False

    def _all(self, place: str, node: Node, values: Iterable[Any]) -> Step[bool]:
        for value in values:
            if not (yield self._at(place, node, value)):
                return False
        return True

    def _record(self, node: Record, value: Any) -> Step[bool]:
        if not isinstance(value, dict):
            return False
        self.has_met_record = True
        if self._steps:
            self._steps.take(len(node.fields))
        if self._is_open(node):
            raise IncompleteError
        for field in node.fields:
            inner = value.get(field.name, field.default)
            if inner is ABSENT or not (yield self._at(f"{field.path}.type", field.type, inner)):
                return False
        return True


def misfit_when_resolved(named: Iterable[Named], ahead: frozenset[str], steps: Steps) -> Field | None:
    """Return the first field whose default makes Avro refuse the schema or throw while it resolves names, or None."""
    visits = _Visits(ahead, steps)
    for node in named:
        run(visits.visit(node))
    return visits.misfit


class _Visits:
    """A walk in the order of Avro's visitor: unions backward, and again from each name of a later type."""

    def __init__(self, ahead: frozenset[str], steps: Steps) -> None:
        self.misfit: Field | None = None
        self._steps = steps
        self._ahead = ahead
        self._begun: set[Node | str] = set()
        self._complete: set[Node] = set()
        self._left = _MOST_VISITS

    def visit(self, start: Node) -> Step[None]:
        visited: set[Node] = set()
        stack: list[tuple[Node, str, bool]] = [(start, "", False)]
        while stack:
            node, place, is_after = stack.pop()
            self._count()
            if is_after:
                self._close(node)
            elif place in self._ahead:
                if place not in self._begun:
                    if node not in self._begun:
                        yield self.visit(node)
                    self._begun.add(place)
            elif node not in visited:
                visited.add(node)
                self._begun.add(node)
                stack.append((node, place, True))
                stack += _parts(node)

    def _count(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise InvalidSchemaError("TOO_DEEP", "too many types are named before they are defined; define them first")

    def _close(self, node: Node) -> None:
        if isinstance(node, Record) and node not in self._complete:
            for field in node.fields:
                if field.default is not ABSENT and self.misfit is None and not self._fits(field):
                    self.misfit = field
            self._complete.add(node)

    def _fits(self, field: Field) -> bool:
        try:
            return Fitting(lambda record: record not in self._complete, steps=self._steps).fits(field)
        except IncompleteError:
            return False


def _parts(node: Node) -> list[tuple[Node, str, bool]]:
    if isinstance(node, Record):
        return [(field.type, f"{field.path}.type", False) for field in reversed(node.fields)]
    if isinstance(node, Union):
        return [(branch, f"{node.path}[{index}]", False) for index, branch in enumerate(node.branches)]
    if isinstance(node, Array):
        return [(node.items, f"{node.path}.items", False)]
    return [(node.values, f"{node.path}.values", False)] if isinstance(node, Map) else []
