"""Single values in JSON and in Python: numbers, texts, bytes (base64 in JSON), symbols."""

import base64
import binascii
import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from topicschema.core.errors import InvalidPayloadError
from topicschema.core.formats.avro.model import Array, Enum, Fixed, Node, Primitive
from topicschema.payload import numbers
from topicschema.payload.codec import HOLDERS, refused
from topicschema.payload.json import jackson
from topicschema.payload.json.walk import Misfit
from topicschema.payload.primitives import checked, real

SPECIAL: Final[Mapping[str, float]] = MappingProxyType(
    {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf, "INF": math.inf, "-INF": -math.inf}
)


def read(node: Node, value: Any) -> Any:
    """Convert a JSON value. Return a Misfit if it is not of the type."""
    read = _read_bytes(node, value) if is_bytes(node) else _checked(node, value, _READ)
    return value if isinstance(read, Misfit) and jackson.takes(node, value) else read


def write(node: Node, value: Any) -> Any:
    """Convert a value to JSON, in the type's form or in Jackson's. Return a Misfit if it is not of the type."""
    written = _write_bytes(node, value) if is_bytes(node) else _checked(node, value, _WRITTEN)
    return value if isinstance(written, Misfit) and jackson.takes(node, value) else written


def _checked(node: Node, value: Any, numbers_of: Mapping[str, Callable[[Any], Any]]) -> Any:
    if isinstance(node, HOLDERS):
        return Misfit("WRONG_TYPE", f"{'an array' if isinstance(node, Array) else 'an object'} is needed")
    if isinstance(node, Enum):
        return value if value in node.symbols else _no_symbol(value)
    kind = node.kind if isinstance(node, Primitive) else ""
    if kind in numbers_of:
        try:
            return numbers_of[kind](value)
        except InvalidPayloadError as error:
            return Misfit(error.rule, error.message)
    return value if isinstance(value, _TYPES[kind]) else Misfit("WRONG_TYPE", f"a {kind} is needed")


def _no_symbol(value: Any) -> Misfit:
    if value.__class__ is int or (isinstance(value, str) and value.isascii() and value.isdigit()):
        return Misfit("ENUM_AS_NUMBER", "a number is no symbol; Java reads the symbol at that index, from 0")
    return Misfit("UNKNOWN_SYMBOL", "the enum has no such symbol")


def is_bytes(node: Node) -> bool:
    """Return True if the type's values are bytes."""
    return isinstance(node, Fixed) or (isinstance(node, Primitive) and node.kind == "bytes")


def _read_bytes(node: Node, value: Any) -> Any:
    if not isinstance(value, str):
        return Misfit("WRONG_TYPE", "bytes are a text in base64")
    try:
        content = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return Misfit("INVALID_BASE64", "the text is not base64")
    return _sized(node, content)


def _write_bytes(node: Node, value: Any) -> Any:
    if not isinstance(value, bytes):
        return Misfit("WRONG_TYPE", "bytes are needed")
    content = _sized(node, value)
    return content if isinstance(content, Misfit) else base64.b64encode(value).decode()


def _sized(node: Node, content: bytes) -> bytes | Misfit:
    if isinstance(node, Fixed) and len(content) != node.size:
        return Misfit("OUT_OF_RANGE", f"the fixed has {node.size:,} bytes, this has {len(content):,}")
    return content


def _int(value: Any) -> int:
    return checked(value, "an int", numbers.INT)


def _long(value: Any) -> int:
    return checked(value, "a long", numbers.LONG)


def _read_double(value: Any) -> float:
    if isinstance(value, str) and value in SPECIAL:
        return SPECIAL[value]
    number = real(value, "a double")
    if math.isinf(number):  # Jackson also has infinity, which is not the value that was sent
        raise refused("OUT_OF_RANGE", "the number is too large for a double")
    return number


def _read_float(value: Any) -> float:
    return numbers.float_of(numbers.bits_of_float(_read_double(value)))


def _written(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _write_double(value: Any) -> float | str:
    return _written(real(value, "a double"))


def _write_float(value: Any) -> float | str:
    number = real(value, "a float")
    numbers.bits_of_float(number)
    return _written(number)


_TYPES: Final[Mapping[str, type]] = MappingProxyType({"null": type(None), "boolean": bool, "string": str})
_READ: Final[Mapping[str, Callable[[Any], Any]]] = MappingProxyType(
    {"int": _int, "long": _long, "float": _read_float, "double": _read_double}
)
_WRITTEN: Final[Mapping[str, Callable[[Any], Any]]] = MappingProxyType(
    {"int": _int, "long": _long, "float": _write_float, "double": _write_double}
)
