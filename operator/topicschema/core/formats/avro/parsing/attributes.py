"""Attributes of the objects in an Avro schema: required ones, ignored ones and custom properties.

As in Avro, an attribute of the wrong kind is an error only if this module raises one. `doc`, `namespace` and an enum's
`default` count as absent if they are not strings.
"""

import re
from collections.abc import Mapping
from typing import Any, Final, NoReturn

from topicschema.core.errors import InvalidSchemaError, Place
from topicschema.core.formats import json_text
from topicschema.core.formats.avro import names
from topicschema.core.formats.avro.avro_version import Library
from topicschema.core.formats.avro.model import NO_PROPS, Field, JsonValue, Node, Primitive

RESERVED: Final = frozenset(
    {"doc", "fields", "items", "name", "namespace", "size", "symbols", "values", "type", "aliases"}
)
RESERVED_IN_ENUM: Final = RESERVED | {"default"}
_RESERVED_IN_FIELD: Final = frozenset({"default", "doc", "name", "order", "type", "aliases"})
_NAME_AND_TYPE: Final = 2
"""The number of members of a field that has only the required ones."""
_LONG: Final = range(-(2**63), 2**63)
_INT: Final = range(-(2**31), 2**31)
_LARGEST_FIXED: Final = 2**31 - 9  # Java's largest array
_ORDERS: Final = {"ASCENDING": "ascending", "DESCENDING": "descending", "IGNORE": "ignore"}
_JAVA_DOUBLE = re.compile(
    r"(?P<sign>[+-]?)(?:(?P<word>NaN|Infinity)"
    r"|(?P<decimal>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[fFdD]?"
    r"|(?P<hex>0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[fFdD]?)\Z"
)
_JAVA_BLANK = "".join(map(chr, range(0x21)))

_Json = Mapping[str, Any]


def type_name(value: _Json, path: str, space: str, library: Library) -> str:
    """Return the full name that a definition gives its type. Raise InvalidSchemaError if it is missing or invalid."""
    name = value.get("name")
    if not isinstance(name, str):
        _refuse_name(value, f"a type '{value['type']}'", path)
    namespace = text_or_none(value, "namespace")
    return names.full(name, space if namespace is None else namespace, f"{path}.name", library)


def refuse_primitive(full_name: str, path: str) -> None:
    """Raise INVALID_NAME if a type has the name of a primitive."""
    if full_name in names.PRIMITIVES:
        message = f"no type may be named {names.shown(full_name)} like a primitive"
        refuse("INVALID_NAME", message, f"{path}.name", escapes=True)


def check_namespace(value: _Json, full_name: str, path: str) -> None:
    """Raise INVALID_NAME if a part of the namespace that a definition gives its type is not a simple name."""
    is_in_name = "." in value["name"] or text_or_none(value, "namespace") is None
    names.check_namespace(full_name, f"{path}.{'name' if is_in_name else 'namespace'}")


def field_name(text: Any, path: str) -> str:
    """Return the name of a field. Raise InvalidSchemaError if the name or the type is missing."""
    if not isinstance(text, dict):
        refuse("INVALID_ATTRIBUTE", "a field must be an object with 'name' and 'type'", path)
    name = text.get("name")
    if not isinstance(name, str):
        _refuse_name(text, "a field", path)
    if "type" not in text:
        refuse("MISSING_ATTRIBUTE", f"the field {names.shown(name)} needs 'type'", path)
    return name


def field(text: _Json, name: str, node: Node, path: str, library: Library) -> Field:
    """Return the field of that name and type, with its other attributes. Raise InvalidSchemaError if one is invalid."""
    made = Field(name=name, type=node, path=path)
    if len(text) > _NAME_AND_TYPE:
        made.doc, made.props = text_or_none(text, "doc"), custom_props(text, _RESERVED_IN_FIELD)
        if "order" in text:
            made.order = _order(text["order"], f"{path}.order")
        if "default" in text:
            made.default = _default(text["default"], node, f"{path}.default")
    if not names.is_plain(name):
        names.check(name, f"{path}.name", library)
    if "aliases" in text:
        made.aliases = aliases(text, path)
    return made


def _default(value: JsonValue, node: Node, path: str) -> JsonValue:
    """Return the default.

    A string for a float or double becomes the number that Java's Double.valueOf returns.
    """
    if not isinstance(value, str) or not isinstance(node, Primitive) or node.kind not in {"float", "double"}:
        return value
    match = _JAVA_DOUBLE.match(value.strip(_JAVA_BLANK))
    if match is None:
        refuse("INVALID_DEFAULT", f"{names.shown(value)} is no number; a {node.kind} is expected", path)
    if match["hex"] is None:
        return float(match["sign"] + (match["word"] or match["decimal"]))
    try:
        return float.fromhex(match["sign"] + match["hex"])
    except OverflowError:
        return float(match["sign"] + "inf")


def _order(value: Any, path: str) -> str:
    order = _ORDERS.get(value.upper()) if isinstance(value, str) else None
    if order is None:
        refuse("INVALID_ATTRIBUTE", "the order must be ascending, descending or ignore", path, escapes=True)
    return order


def aliases(value: _Json, path: str) -> tuple[str, ...]:
    """Return the aliases as written, without duplicates."""
    texts = value.get("aliases", [])
    if not isinstance(texts, list) or not all(isinstance(alias, str) for alias in texts):
        refuse("INVALID_ATTRIBUTE", "aliases must be an array of names", f"{path}.aliases")
    return tuple(dict.fromkeys(texts))


def required_list(value: _Json, attribute: str, what: str, path: str) -> list[Any]:
    """Return the attribute. Raise InvalidSchemaError if it is missing or not an array."""
    values = value.get(attribute)
    if values is None:
        refuse("MISSING_ATTRIBUTE", f"{what} needs '{attribute}', an array", path)
    if not isinstance(values, list):
        refuse("INVALID_ATTRIBUTE", f"{what}'s '{attribute}' must be an array", f"{path}.{attribute}")
    return values


def check_symbols(texts: list[Any], path: str, library: Library) -> None:
    """Raise InvalidSchemaError if one of an enum's symbols is invalid or occurs twice."""
    earlier: set[str] = set()
    for index, symbol in enumerate(texts):
        if not isinstance(symbol, str):
            refuse("INVALID_NAME", "a symbol must be a text", f"{path}.symbols[{index}]")
        if not names.is_plain(symbol):
            names.check(symbol, f"{path}.symbols[{index}]", library)
        if symbol in earlier:
            message = f"the enum has the symbol {names.shown(symbol)} twice"
            refuse("DUPLICATE_SYMBOL", message, f"{path}.symbols[{index}]")
        earlier.add(symbol)


def size(value: _Json, path: str) -> int:
    """Return the size of a fixed in bytes. Raise InvalidSchemaError if it is missing or out of range."""
    number = value.get("size")
    if number is None:
        refuse("MISSING_ATTRIBUTE", "a fixed needs 'size', its number of bytes", path)
    is_integer = type(number) is int and number in _INT
    if not is_integer or not 0 <= number <= _LARGEST_FIXED:
        message = f"the size of a fixed must be an integer from 0 to {_LARGEST_FIXED}"
        refuse("INVALID_ATTRIBUTE", message, f"{path}.size", escapes=is_integer)
    return int(number)


def text_or_none(value: _Json, attribute: str) -> str | None:
    """Return the attribute if it is a string, else None: Avro ignores any other kind."""
    text = value.get(attribute)
    return text if isinstance(text, str) else None


def custom_props(value: _Json, reserved: frozenset[str] = RESERVED) -> Mapping[str, JsonValue]:
    """Return the members that Avro stores as properties: all but the reserved names."""
    if value.keys() <= reserved:
        return NO_PROPS
    return {name: prop for name, prop in value.items() if name not in reserved}


def error_of_copy(props: Mapping[str, JsonValue], path: str) -> InvalidSchemaError | None:
    """Return the error if a property has an integer beyond 64 bits, which Avro 1.12 cannot copy, or None.

    Avro throws (JacksonUtils.toObject).
    """
    for name, prop in props.items():
        if _has_huge(prop):
            place = Place(json_text.member(path, name))
            message = "an integer here may have 64 bits at most"
            return InvalidSchemaError("INVALID_ATTRIBUTE", message, place, escapes=True)
    return None


def _has_huge(prop: JsonValue) -> bool:
    work: list[JsonValue] = [prop]
    while work:
        value = work.pop()
        if isinstance(value, list):
            work += value
        elif isinstance(value, dict):
            work += value.values()
        elif type(value) is int and value not in _LONG:
            return True
    return False


def kind(value: _Json, path: str) -> str:
    """Return the `type` of a schema object. Raise InvalidSchemaError if it is missing or not a string."""
    name = value.get("type")
    if isinstance(name, str):
        return name
    if "type" not in value:
        refuse("MISSING_ATTRIBUTE", "a schema object needs 'type'", path)
    message = "here 'type' must be a text; put the inner schema in this object's place"
    return refuse("INVALID_ATTRIBUTE", message, f"{path}.type")


def _refuse_name(value: _Json, what: str, path: str) -> NoReturn:
    if "name" not in value:
        refuse("MISSING_ATTRIBUTE", f"{what} needs 'name'", path)
    refuse("INVALID_NAME", f"the name of {what} must be a text in double quotes", f"{path}.name")


def refuse(rule: str, message: str, path: str, *, escapes: bool = False) -> NoReturn:
    """Raise InvalidSchemaError for the path."""
    raise InvalidSchemaError(rule, message, Place(path), escapes=escapes)
