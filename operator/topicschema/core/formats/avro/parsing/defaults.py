"""Validation of field defaults by the rule that Avro applies on parsing (Schema.isValidDefault).

In Avro 1.11 a union's default must fit the first branch, in 1.12 any branch (`union_defaults`).

The broker skips this check for the first version and applies it to every later upload. So a history that starts with a
bad default refuses everything; the operator refuses such a default from the start.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

from topicschema.core.errors import InvalidSchemaError, Place
from topicschema.core.formats import json_text
from topicschema.core.formats.avro import names
from topicschema.core.formats.avro.avro_version import Library
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
from topicschema.core.formats.avro.parsing import scalar_defaults, union_defaults
from topicschema.core.formats.avro.parsing.union_defaults import Fitting, IncompleteError
from topicschema.core.steps import MOST_STEPS, PER_DEFAULT, Steps, TooComplexError

_Work = tuple[Node, Any, str]
_LEAVES: Final = frozenset({Primitive, Enum, Fixed})
_KINDS: Final = {
    type(None): "null",
    bool: "a boolean",
    int: "an integer",
    float: "a number",
    str: "a text",
    list: "an array",
    dict: "an object",
}


def check(fields: Iterable[Field], library: Library) -> None:
    """Raise InvalidSchemaError INVALID_DEFAULT with the exact place for the first default that does not fit.

    Raise COMPARISON_TOO_COMPLEX if all defaults together take too many steps.

    `fields` are all fields of a schema in the order of the text. So a default that relies on another field's default
    may treat that one as checked.
    """
    checker = Checker(library, Steps())
    for field in fields:
        if field.default is not ABSENT:
            with _bounded(f"{field.path}.default"):
                checker.check(field)


@contextmanager
def _bounded(path: str) -> Iterator[None]:
    try:
        yield
    except TooComplexError:
        message = f"to check the defaults takes more than {MOST_STEPS:,} steps; make large defaults smaller"
        raise InvalidSchemaError("COMPARISON_TOO_COMPLEX", message, Place(path)) from None


def _fits_at_sight(field: Field) -> bool:
    """Return True if the type, or a union's first branch, has no parts and the default fits. Nearly all defaults do."""
    node = field.type
    if node.__class__ is Union and node.branches:
        node = node.branches[0]
    return node.__class__ in _LEAVES and scalar_defaults.expected(node, field.default) is None


def check_ahead(fields: Iterable[Field], named: Iterable[Named], ahead: frozenset[str]) -> None:
    """Check as `check` does, for Avro 1.12 and a schema that names types at `ahead` before their definition.

    Until its definition, Avro treats such a type as a record without fields. It checks the defaults again afterward.
    """
    has_met_record, steps = False, Steps()
    for field in fields:
        if field.default is not ABSENT:
            fitting = Fitting(_within(field), ahead, steps)
            with _bounded(f"{field.path}.default"):
                if not _is_fit(fitting, field):
                    raise _misfit(field, f"{field.path}.default", _AHEAD)
            has_met_record |= fitting.has_met_record
    with _bounded("$"):
        misfit = union_defaults.misfit_when_resolved(named, ahead, steps) if has_met_record else None
    if misfit is not None:
        raise _misfit(misfit, f"{misfit.path}.default", _AHEAD)


_AHEAD: Final = "does not fit its type as far as that is known there; define types before they are named"


def _within(field: Field) -> Callable[[Record], bool]:
    """Return a function that returns True for a record that contains the field.

    Such a record was incomplete when the field was read.
    """
    return lambda record: field.path.startswith(f"{record.path}.fields[")


def _is_fit(fitting: Fitting, field: Field) -> bool:
    try:
        return fitting.fits(field)
    except IncompleteError:
        return False


class Checker:
    """A check for the defaults of many fields that caches the fields of their records."""

    def __init__(self, library: Library, steps: Steps | None = None) -> None:
        self._library = library
        self._steps = steps
        self._known: dict[int, tuple[dict[str, Field], frozenset[str]]] = {}

    def check(self, field: Field) -> None:
        """Raise InvalidSchemaError as the function `check` does, or TooComplexError if too few steps remain."""
        if _fits_at_sight(field):
            return
        work: list[_Work] = [(field.type, field.default, f"{field.path}.default")]
        while work:
            node, value, path = work.pop()
            if self._steps:
                self._steps.take(PER_DEFAULT // 2 + (len(value) if isinstance(value, list | dict) else 0))
            parts: Iterable[_Work]
            if isinstance(node, Record):
                parts = self._record(node, value, path, field)
            elif isinstance(node, Union) and self._library is Library.AVRO_1_12:
                parts = self._any_branch(node, value, path, field)
            else:
                parts = _parts(node, value, path, field)
            work.extend(reversed(list(parts)))

    def _record(self, node: Record, value: Any, path: str, field: Field) -> Iterator[_Work]:
        if not isinstance(value, dict):
            raise _misfit(
                field, path, f"is {_KINDS[type(value)]}, the record {names.shown(node.full_name)} needs an object"
            )
        if field.path.startswith(f"{node.path}.fields["):
            raise _misfit(field, path, f"holds the record {names.shown(node.full_name)}, of which the field is a part")
        fields, required = self._fields(node)
        missing = required - value.keys()
        if missing:
            lacks = f"lacks {names.shown(min(missing))}, which has no default in {names.shown(node.full_name)}"
            raise _misfit(field, path, lacks)
        for name, inner in value.items():
            if name in fields:
                yield fields[name].type, inner, json_text.member(path, name)

    def _any_branch(self, node: Union, value: Any, path: str, field: Field) -> tuple[()]:
        whole = replace(field, type=node, default=value)
        if not _is_fit(Fitting(_within(field), steps=self._steps), whole):
            raise _misfit(field, path, f"is {_KINDS[type(value)]}, which fits no branch of its union")
        return ()

    def _fields(self, node: Record) -> tuple[dict[str, Field], frozenset[str]]:
        """Return the fields by name, and the names of those without a default."""
        if id(node) not in self._known:
            if self._steps:
                self._steps.take(len(node.fields))
            if not node.fields:
                return {}, frozenset()  # it may not be complete yet
            required = frozenset(field.name for field in node.fields if field.default is ABSENT)
            self._known[id(node)] = {field.name: field for field in node.fields}, required
        return self._known[id(node)]


def _parts(node: Node, value: Any, path: str, field: Field) -> Iterator[_Work]:
    """Check the kind of `value`. Yield the parts that remain to be checked, with their types and paths."""
    if isinstance(node, Union):
        if not node.branches:
            raise _misfit(field, path, "cannot fit an empty union; remove it")
        yield node.branches[0], value, path
        return
    expected = scalar_defaults.expected(node, value)
    if expected is not None:
        raise _misfit(field, path, f"is {_KINDS[type(value)]}, {expected} is expected{_union_hint(field)}")
    if isinstance(node, Array):
        inner = node.items
        yield from ((inner, item, f"{path}[{index}]") for index, item in enumerate(value) if _is_open(inner, item))
    elif isinstance(node, Map):
        inner = node.values
        held = ((name, item) for name, item in value.items() if _is_open(inner, item))
        yield from ((inner, item, json_text.member(path, name)) for name, item in held)


def _is_open(node: Node, value: Any) -> bool:
    """Return True if the value needs a check. Most values in large defaults fit and have no parts."""
    if isinstance(node, Record | Union) or (isinstance(node, Array | Map) and value):
        return True
    return scalar_defaults.expected(node, value) is not None


def _union_hint(field: Field) -> str:
    return " (a union's default belongs to its first branch)" if isinstance(field.type, Union) else ""


def _misfit(field: Field, path: str, why: str) -> InvalidSchemaError:
    return InvalidSchemaError("INVALID_DEFAULT", f"the default of field {names.shown(field.name)} {why}", Place(path))
