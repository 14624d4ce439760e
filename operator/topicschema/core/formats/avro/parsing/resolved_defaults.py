"""Validation of defaults by Avro 1.12, which does it twice: when it parses a field, and when it resolves the names.

To resolve the names, Avro copies record by record (SchemaResolver, Schemas.visit), and throws on a default that reads a
record whose copy is incomplete. This module follows its order. Until the definition of a type, Avro treats its name as
a record without fields.
"""

from collections.abc import Iterable
from typing import Final

from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats.avro.avro_version import Library
from topicschema.core.formats.avro.graph.trampoline import Computation, run
from topicschema.core.formats.avro.model import ABSENT, Array, Field, Map, Named, Node, Record, Union
from topicschema.core.formats.avro.parsing import defaults
from topicschema.core.formats.avro.parsing.defaults import UNKNOWN_TYPE, DefaultsChecker, error_of, too_complex
from topicschema.core.steps import Steps, TooComplexError

_MOST_VISITS: Final = 1_000_000
"""The maximum number of visits. A text that needs more is refused.

Avro walks over the whole schema again for each name that is used before its definition.
"""
_INCOMPLETE: Final = (
    "holds a record that refers back to the field's record: Avro 1.12 copies one after the other, and throws if the "
    "default needs a copy that is incomplete; remove the default"
)


def check(fields: Iterable[Field], named: Iterable[Named], ahead: frozenset[str]) -> None:
    """Check the defaults, and once more in the order in which Avro copies the records.

    `ahead` are the places, as JSON paths, that name a type before its definition.
    """
    steps = Steps()
    checker = DefaultsChecker(Library.AVRO_1_12, steps, ahead=ahead)
    defaults.check(fields, checker)
    if checker.has_met_record:
        visits = _Visits(ahead, steps)
        try:
            for node in named:
                run(visits.visit(node))
        except TooComplexError:
            raise too_complex("$") from None
        if visits.misfit is not None:
            raise error_of(visits.misfit, UNKNOWN_TYPE if ahead else _INCOMPLETE)


class _Visits:
    """A walk in the order of Avro's visitor: unions backward, and again from each name of a later type.

    `misfit` is the first field whose default makes Avro refuse the schema or throw, or None.
    """

    def __init__(self, ahead: frozenset[str], steps: Steps) -> None:
        self.misfit: Field | None = None
        self._ahead = ahead
        self._begun: set[Node | str] = set()
        self._complete: set[Record] = set()
        self._checker = DefaultsChecker(Library.AVRO_1_12, steps, complete=self._complete)
        self._left = _MOST_VISITS

    def visit(self, start: Node) -> Computation[None]:
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
            elif node not in visited and (self._ahead or node not in self._complete):
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
                if field.default is not ABSENT and self.misfit is None and self._checker.error(field) is not None:
                    self.misfit = field
            self._complete.add(node)


def _parts(node: Node) -> list[tuple[Node, str, bool]]:
    if isinstance(node, Record):
        return [(field.type, f"{field.path}.type", False) for field in reversed(node.fields)]
    if isinstance(node, Union):
        return [(branch, f"{node.path}[{index}]", False) for index, branch in enumerate(node.branches)]
    if isinstance(node, Array):
        return [(node.items, f"{node.path}.items", False)]
    return [(node.values, f"{node.path}.values", False)] if isinstance(node, Map) else []
