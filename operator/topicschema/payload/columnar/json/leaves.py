"""Checks of single values for generated checkers. See payload/json/leaves for the rules."""

import base64
import binascii
import struct
import sys
from collections.abc import Callable
from typing import Any, Final

from topicschema.core.formats.avro.model import Enum, Fixed, Node, Primitive
from topicschema.payload import numbers
from topicschema.payload.columnar.verdicts import Loss
from topicschema.payload.json.leaves import SPECIAL, is_bytes

PRECISION_LOST: Final = "PRECISION_LOST"
_LARGEST_FLOAT: Final = 3.4028234663852886e38
_LARGEST_DOUBLE: Final = sys.float_info.max
_EXACT_IN_FLOAT: Final = 1 << 24
_EXACT_IN_DOUBLE: Final = 1 << 53
_FLOAT: Final = struct.Struct(">f")

Lose = Callable[[Loss], None]

PLAIN: Final = {
    "null": "{0} is None",
    "boolean": "({0} is True or {0} is False)",
    "int": "({0}.__class__ is int and -2147483648 <= {0} <= 2147483647)",
    "long": "({0}.__class__ is int and -9223372036854775808 <= {0} <= 9223372036854775807)",
    "string": "{0}.__class__ is str",
}
"""Expressions for kinds that need nothing else."""


def of(node: Node) -> Callable[[Any], bool] | None:
    """Return the check for a value of bytes, a fixed or an enum, or None for all other types."""
    if isinstance(node, Enum):
        symbols = frozenset(node.symbols)
        return lambda value: value.__class__ is str and value in symbols
    if not is_bytes(node):
        return None
    size = node.size if isinstance(node, Fixed) else None
    return lambda value: _is_base64(value, size)


def real(node: Primitive, path: str, lose: Lose, *, narrows: bool) -> Callable[[Any], bool]:
    """Return the check for a value of a float or double, which reports losses.

    `narrows` means that doubles were written.
    """
    loss = Loss(PRECISION_LOST, path)
    if node.kind == "double":
        return lambda value: (
            -_LARGEST_DOUBLE <= value <= _LARGEST_DOUBLE if value.__class__ is float else _is_double(value, loss, lose)
        )
    return lambda value: _is_float(value, loss, lose, narrows=narrows)


def _is_double(value: Any, loss: Loss, lose: Lose) -> bool:
    if value.__class__ is not int:
        return value.__class__ is str and value in SPECIAL
    if abs(value) > _EXACT_IN_DOUBLE:
        try:
            is_exact = int(float(value)) == value
        except OverflowError:
            return False
        if not is_exact:
            lose(loss)
    return True


def _is_float(value: Any, loss: Loss, lose: Lose, *, narrows: bool) -> bool:
    if value.__class__ is str:
        return value in SPECIAL
    if value.__class__ is float:
        if not -_LARGEST_FLOAT <= value <= _LARGEST_FLOAT:
            return False
        if narrows and _FLOAT.unpack(_FLOAT.pack(value))[0] != value:
            lose(loss)
        return True
    if value.__class__ is not int or abs(value) > _LARGEST_FLOAT:
        return False
    if abs(value) > _EXACT_IN_FLOAT and numbers.nearest_float(value) != value:
        lose(loss)
    return True


def _is_base64(value: Any, size: int | None) -> bool:
    if value.__class__ is not str:
        return False
    try:
        content = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return False
    return size is None or len(content) == size
