"""Whether field defaults fit their types, by the rule Avro 1.11.4 applies when it parses (Schema.isValidDefault).

The broker skips this check when it stores a first version and runs it on every upload after that, so a history that
starts with a bad default refuses everything. We refuse it from the start.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from topicschema.core.errors import InvalidSchemaError, Place
from topicschema.core.formats import json_text
from topicschema.core.formats.avro import names
from topicschema.core.formats.avro.model import ABSENT, Array, Field, Map, Named, Node, Primitive, Record, Union

_Work = tuple[Node, Any, str]
_INT: Final = range(-(2**31), 2**31)
_LONG: Final = range(-(2**63), 2**63)
_KINDS: Final = {
    type(None): "null",
    bool: "a boolean",
    int: "an integer",
    float: "a number",
    str: "a text",
    list: "an array",
    dict: "an object",
}


def check(fields: Iterable[Field]) -> None:
    """Raises InvalidSchemaError INVALID_DEFAULT with the exact place for the first default that does not fit.

    `fields` are all fields of a schema in the order of the text: a default that leans on another field's default may
    then take that one for checked.
    """
    checker = _Checker()
    for field in fields:
        if field.default is not ABSENT:
            checker.check(field)


class _Checker:
    def __init__(self) -> None:
        self._known: dict[int, tuple[dict[str, Field], frozenset[str]]] = {}

    def check(self, field: Field) -> None:
        work: list[_Work] = [(field.type, field.default, f"{field.path}.default")]
        while work:
            node, value, path = work.pop()
            if isinstance(node, Record):
                parts = self._record(node, value, path, field)
            else:
                parts = _parts(node, value, path, field)
            work.extend(reversed(list(parts)))

    def _record(self, node: Record, value: Any, path: str, field: Field) -> Iterator[_Work]:
        if not isinstance(value, dict):
            raise _misfit(
                field, path, f"is {_KINDS[type(value)]}, the record {names.shown(node.full_name)} wants an object"
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

    def _fields(self, node: Record) -> tuple[dict[str, Field], frozenset[str]]:
        """The fields by name, and the names of those without a default."""
        if id(node) not in self._known:
            required = frozenset(field.name for field in node.fields if field.default is ABSENT)
            self._known[id(node)] = {field.name: field for field in node.fields}, required
        return self._known[id(node)]


def _parts(node: Node, value: Any, path: str, field: Field) -> Iterator[_Work]:
    """What of `value` is left to check against which types, once the kind has been checked."""
    if isinstance(node, Union):
        if not node.branches:
            raise _misfit(field, path, "cannot fit an empty union; remove it")
        yield node.branches[0], value, path
        return
    wanted = _wanted(node, value)
    if wanted is not None:
        raise _misfit(field, path, f"is {_KINDS[type(value)]}, {wanted} is wanted{_union_hint(field)}")
    if isinstance(node, Array):
        for index, item in enumerate(value):
            yield node.items, item, f"{path}[{index}]"
    elif isinstance(node, Map):
        for name, item in value.items():
            yield node.values, item, json_text.member(path, name)


def _wanted(node: Node, value: Any) -> str | None:
    """What the type wants instead of `value`; None when the kind of `value` fits."""
    kind = type(value)
    if isinstance(node, Array):
        return None if kind is list else "an array"
    if isinstance(node, Map):
        return None if kind is dict else "an object"
    if isinstance(node, Named):
        return None if kind is str else "a text"
    return _PRIMITIVES[node.kind](value) if isinstance(node, Primitive) else None


_PRIMITIVES: Final[Mapping[str, Callable[[Any], str | None]]] = {
    "null": lambda value: None if value is None else "null",
    "boolean": lambda value: None if isinstance(value, bool) else "true or false",
    "int": lambda value: None if type(value) is int and value in _INT else "a 32-bit integer",
    "long": lambda value: None if type(value) is int and value in _LONG else "a 64-bit integer",
    "float": lambda value: None if type(value) in (int, float) else "a number",
    "double": lambda value: None if type(value) in (int, float) else "a number",
    "bytes": lambda value: None if isinstance(value, str) else "a text",
    "string": lambda value: None if isinstance(value, str) else "a text",
}


def _union_hint(field: Field) -> str:
    return " (a union's default belongs to its first branch)" if isinstance(field.type, Union) else ""


def _misfit(field: Field, path: str, why: str) -> InvalidSchemaError:
    return InvalidSchemaError("INVALID_DEFAULT", f"the default of field {names.shown(field.name)} {why}", Place(path))
