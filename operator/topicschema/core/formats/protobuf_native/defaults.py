"""Texts that protobuf's Java library (3.25, as in Pulsar 4.0) accepts as the default value of a field.

Source: FieldDescriptor.crossLink with TextFormat's parsers. Deliberately refused beyond that: hexadecimal floats and
digits that are not ASCII, which no compiler writes.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

from topicschema.core.formats.protobuf_native.model import Kind

_INTEGER: Final = re.compile(r"(-?)(?:0[xX]\+?([0-9a-fA-F]+)|0([0-7]*)|(\+[0-9]+|[1-9][0-9]*))")
_FLOAT: Final = re.compile(
    r"[\x00-\x20]*[+-]?(?:NaN|Infinity|(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFdD]?)[\x00-\x20]*|-?inf|nan"
)
_ESCAPED: Final = re.compile(
    r"""[^\\]*+(?:\\(?:[0-7]{1,3}|[abfnrtv\\'"?]|x[0-9a-fA-F]{1,2}|u(?![dD][89a-fA-F])[0-9a-fA-F]{4}|U(?!0000[dD][89a-fA-F])(?:000[0-9a-fA-F]|0010)[0-9a-fA-F]{4})[^\\]*+)*+""",
    re.DOTALL,
)


def is_default(kind: Kind, text: str) -> bool:
    """Return True if a field of that kind, which is neither a message nor an enum, may have the default `text`."""
    check = _CHECKS.get(kind)
    return check is None or check(text)


def _integer(bits: int, *, signed: bool) -> Callable[[str], bool]:
    low, high = (-(1 << (bits - 1)), 1 << (bits - 1)) if signed else (0, 1 << bits)

    def check(text: str) -> bool:
        match = _INTEGER.fullmatch(text)
        if match is None or (match[1] and not signed):
            return False
        sign, hexadecimal, octal, decimal = match.groups()
        digits, base = next(
            (each, base) for each, base in ((hexadecimal, 16), (octal, 8), (decimal, 10)) if each is not None
        )
        value = int(digits.lstrip("+0")[: bits + 1] or "0", base)  # these digits suffice to find it too large
        return low <= (-value if sign else value) < high

    return check


def _float(text: str) -> bool:
    return _FLOAT.fullmatch(text) is not None


_INT32, _INT64 = _integer(32, signed=True), _integer(64, signed=True)
_UINT32, _UINT64 = _integer(32, signed=False), _integer(64, signed=False)
_CHECKS: Final[Mapping[Kind, Callable[[str], bool]]] = {
    **dict.fromkeys((Kind.INT32, Kind.SINT32, Kind.SFIXED32), _INT32),
    **dict.fromkeys((Kind.INT64, Kind.SINT64, Kind.SFIXED64), _INT64),
    **dict.fromkeys((Kind.UINT32, Kind.FIXED32), _UINT32),
    **dict.fromkeys((Kind.UINT64, Kind.FIXED64), _UINT64),
    **dict.fromkeys((Kind.FLOAT, Kind.DOUBLE), _float),
    Kind.BYTES: lambda text: _ESCAPED.fullmatch(text) is not None,
}
