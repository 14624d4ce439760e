"""Validation of field defaults by the rule that Avro applies on parsing (Schema.isValidDefault, isValidValue).

In Avro 1.11 a union's default must fit the first branch, in 1.12 any branch.

The broker skips this check for the first version and applies it to every later upload. So a history that starts with a
bad default refuses everything; the operator refuses such a default from the start.
"""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from topicschema.core.errors import InvalidSchemaError, Place
from topicschema.core.formats import json_text
from topicschema.core.formats.avro import names
from topicschema.core.formats.avro.avro_version import Library
from topicschema.core.formats.avro.graph.trampoline import Computation, run
from topicschema.core.formats.avro.model import ABSENT, Array, Field, Map, Node, Record, Union
from topicschema.core.formats.avro.parsing import scalar_defaults
from topicschema.core.steps import MOST_STEPS, PER_DEFAULT, Steps, TooComplexError

UNKNOWN_TYPE: Final = "does not fit its type as far as that is known there; define types before they are named"
_KINDS: Final = {
    type(None): "null",
    bool: "a boolean",
    int: "an integer",
    float: "a number",
    str: "a text",
    list: "an array",
    dict: "an object",
}


def check(fields: Iterable[Field], checker: "DefaultsChecker") -> None:
    """Raise InvalidSchemaError INVALID_DEFAULT with the exact place for the first default that does not fit.

    Raise COMPARISON_TOO_COMPLEX if all defaults together take too many steps.

    `fields` are all fields of a schema in the order of the text. So a default that relies on another field's default
    may treat that one as checked.
    """
    for field in fields:
        if field.default is not ABSENT:
            try:
                error = checker.error(field)
            except TooComplexError:
                raise too_complex(f"{field.path}.default") from None
            if error is not None:
                raise error


def too_complex(path: str) -> InvalidSchemaError:
    """Return the error of defaults whose check takes too many steps."""
    message = f"to check the defaults takes more than {MOST_STEPS:,} steps; make large defaults smaller"
    return InvalidSchemaError("COMPARISON_TOO_COMPLEX", message, Place(path))


class _Misfit(NamedTuple):
    """A part of a default that does not fit: its path within the default, and the reason.

    `is_final` is True if Avro throws, so that no other branch of a union is tried.
    """

    path: str
    reason: str
    is_final: bool = False

    def within(self, key: str | int) -> "_Misfit":
        """Return the same of the default that has this one as its member or element `key`."""
        step = f"[{key}]" if isinstance(key, int) else json_text.member("", key)
        return self._replace(path=step + self.path)


_ENDLESS: Final = _Misfit("", "", is_final=True)
"""The error of a default that leads back to itself through the default of a record's field, so that Avro throws."""


class DefaultsChecker:
    """A check of the defaults of many fields, which caches the fields of their records.

    In unions of Avro 1.12, and in schemas that name types before their definition, the check is in full. As in Avro, it
    checks the defaults of fields that a record leaves out, too, and ends at a record that is not complete, so the order
    counts. Elsewhere the defaults of fields that a record leaves out count as checked.

    `ahead` are the places, as JSON paths, that name a type before its definition; each counts as a record without
    fields. `complete` are the records that Avro can read. Without it, Avro cannot read those that contain the field.
    """

    def __init__(
        self,
        library: Library,
        steps: Steps,
        *,
        ahead: frozenset[str] = frozenset(),
        complete: set[Record] | None = None,
    ) -> None:
        self.has_met_record = False
        """True if a default contained a record."""
        self._library = library
        self._steps = steps
        self._ahead = ahead
        self._complete = complete
        self._known: dict[tuple[int, int], _Misfit | None] = {}
        self._fields: dict[Record, tuple[dict[str, Field], frozenset[str]]] = {}

    def error(self, field: Field) -> InvalidSchemaError | None:
        """Return the error of the field's default, or None if it fits. Raise TooComplexError if steps are lacking."""
        self._field = field
        self._in_full = bool(self._ahead) or self._complete is not None
        self._known.clear()
        node = field.type
        if isinstance(node, Union) and node.branches:
            node = node.branches[0]
        if not self._in_full and _fits_at_sight(node, field.default):
            return None
        misfit = run(self._of(f"{field.path}.type", field.type, field.default))
        if misfit is None:
            return None
        return error_of(field, UNKNOWN_TYPE) if self._ahead else error_of(field, misfit.reason, misfit.path)

    def _of(self, place: str, node: Node, value: Any) -> Computation[_Misfit | None]:
        """Return the first part of a value that does not fit its type, or None."""
        if self._in_full:
            return self._once(place, node, value)
        self._steps.take(PER_DEFAULT // 2 + (len(value) if isinstance(value, list | dict) else 0))
        return self._by_kind(place, node, value)

    def _once(self, place: str, node: Node, value: Any) -> Computation[_Misfit | None]:
        """Return the result of a check in full, which checks each pair of type and value once."""
        if place in self._ahead:
            self.has_met_record = True
            return None if isinstance(value, dict) else _Misfit("", "")
        key = id(node), id(value)
        if key not in self._known:
            self._steps.take(PER_DEFAULT)
            self._known[key] = _ENDLESS
            self._known[key] = yield self._by_kind(place, node, value)
        return self._known[key]

    def _by_kind(self, place: str, node: Node, value: Any) -> Computation[_Misfit | None]:
        misfit: _Misfit | None = None
        if isinstance(node, Record):
            misfit = yield self._record(node, value)
        elif isinstance(node, Union):
            misfit = yield self._union(place, node, value)
        elif (expected := scalar_defaults.expected(node, value)) is not None:
            hint = " (a union's default belongs to its first branch)" if isinstance(self._field.type, Union) else ""
            misfit = _Misfit("", f"is {_KINDS[type(value)]}, {expected} is expected{hint}")
        elif isinstance(node, Array):
            misfit = yield self._all(f"{node.path}.items", node.items, enumerate(value))
        elif isinstance(node, Map):
            misfit = yield self._all(f"{node.path}.values", node.values, value.items())
        return misfit

    def _all(self, place: str, node: Node, values: Iterable[tuple[int | str, Any]]) -> Computation[_Misfit | None]:
        for key, value in values:
            if self._in_full or not _fits_at_sight(node, value):
                misfit: _Misfit | None = yield self._of(place, node, value)
                if misfit is not None:
                    return misfit.within(key)
        return None

    def _union(self, place: str, node: Union, value: Any) -> Computation[_Misfit | None]:
        misfit: _Misfit | None
        if self._library is Library.AVRO_1_11:
            if not node.branches:
                return _Misfit("", "cannot fit an empty union; remove it")
            misfit = yield self._of(place, node.branches[0], value)
            return misfit
        if not self._in_full:
            self._in_full = True
            self._known.clear()
            misfit = yield self._once(place, node, value)
            self._in_full = False
            return misfit
        reason = f"is {_KINDS[type(value)]}, which fits no branch of its union"
        for index, branch in enumerate(node.branches):
            misfit = yield self._once(f"{node.path}[{index}]", branch, value)
            if misfit is None:
                return None
            if misfit.is_final:
                return _Misfit("", reason, is_final=True)
        return _Misfit("", reason)

    def _record(self, node: Record, value: Any) -> Computation[_Misfit | None]:
        if not isinstance(value, dict):
            needs = f"the record {names.shown(node.full_name)} needs an object"
            return _Misfit("", f"is {_KINDS[type(value)]}, {needs}")
        self.has_met_record = True
        if not self._is_complete(node):
            holds = f"holds the record {names.shown(node.full_name)}, of which the field is a part"
            return _Misfit("", holds, is_final=True)
        for field, inner in self._all_fields(node, value) if self._in_full else self._members(node, value):
            if inner is ABSENT:
                lacks = f"lacks {names.shown(field.name)}, which has no default in {names.shown(node.full_name)}"
                return _Misfit("", lacks)
            misfit: _Misfit | None = yield self._of(f"{field.path}.type", field.type, inner)
            if misfit is not None:
                return misfit.within(field.name)
        return None

    def _all_fields(self, node: Record, value: dict[str, Any]) -> list[tuple[Field, Any]]:
        self._steps.take(len(node.fields))
        return [(field, value.get(field.name, field.default)) for field in node.fields]

    def _members(self, node: Record, value: dict[str, Any]) -> list[tuple[Field, Any]]:
        """Return the fields that the value has, or one that it must have and lacks."""
        if node not in self._fields and node.fields:  # without fields, it may not be complete yet
            self._steps.take(len(node.fields))
            required = frozenset(field.name for field in node.fields if field.default is ABSENT)
            self._fields[node] = {field.name: field for field in node.fields}, required
        fields, required = self._fields.get(node, ({}, frozenset()))
        missing = required - value.keys()
        present = [min(missing)] if missing else value
        return [(fields[name], value.get(name, ABSENT)) for name in present if name in fields]

    def _is_complete(self, record: Record) -> bool:
        if self._complete is not None:
            return record in self._complete
        return not self._field.path.startswith(f"{record.path}.fields[")


def _fits_at_sight(node: Node, value: Any) -> bool:
    """Return True if the value fits and has no parts. Most values in large defaults do."""
    if isinstance(node, Record | Union) or (isinstance(node, Array | Map) and value):
        return False
    return scalar_defaults.expected(node, value) is None


def error_of(field: Field, reason: str, path: str = "") -> InvalidSchemaError:
    """Return the error of the field's default, or of the part at `path` in it."""
    message = f"the default of field {names.shown(field.name)} {reason}"
    return InvalidSchemaError("INVALID_DEFAULT", message, Place(f"{field.path}.default{path}"))
