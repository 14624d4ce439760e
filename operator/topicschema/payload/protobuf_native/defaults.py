"""Values of fields that were not sent, from the text in their descriptors.

Source: FieldDescriptor.getDefaultValue of protobuf's Java library (3.25). See core's `defaults` for the texts.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from topicschema.core.formats.protobuf_native import Enum, Field, Kind
from topicschema.payload.protobuf_native.kinds import FLOATS, RANGES

_OCTAL: Final = re.compile(r"(-?)0([0-7]+)")
_ESCAPE: Final = re.compile(
    rb"\\(?:([0-7]{1,3})|[xX]([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL
)
_NAMED: Final[Mapping[bytes, bytes]] = {
    b"a": b"\a",
    b"b": b"\b",
    b"f": b"\f",
    b"n": b"\n",
    b"r": b"\r",
    b"t": b"\t",
    b"v": b"\v",
}


def of(field: Field, enum: Enum | None) -> Any:
    """Return the default of a single value: a number, a text, bytes, an enum's name, or None for a message."""
    if enum is not None:
        return field.default if field.default is not None else next(iter(enum.values))
    if field.kind in RANGES:
        return _integer(field.default or "0")
    if field.kind in FLOATS:
        return _float(field.default or "0")
    if field.kind is Kind.BOOL:
        return (field.default or "").lower() == "true"
    if field.kind is Kind.STRING:
        return field.default or ""
    return _bytes(field.default or "") if field.kind is Kind.BYTES else None


def _integer(text: str) -> int:
    octal = _OCTAL.fullmatch(text)
    if octal is not None:
        return int(octal[1] + octal[2], 8)
    return int(text.replace("+", ""), 16 if "x" in text.lower() else 10)


def _float(text: str) -> float:
    bare = text.strip("".join(map(chr, range(0x21))))
    return float(bare.rstrip("fFdD") if bare[-2:-1].isdigit() or bare[-2:-1] == "." else bare)


def _bytes(text: str) -> bytes:
    return _ESCAPE.sub(_unescaped, text.encode("utf-8", "replace"))


def _unescaped(match: re.Match[bytes]) -> bytes:
    octal, hexadecimal, short, long, single = match.groups()
    if octal or hexadecimal:
        return bytes([int(octal or hexadecimal, 8 if octal else 16) & 0xFF])
    if short or long:
        return chr(int(short or long, 16)).encode("utf-8", "replace")
    return _NAMED.get(single, single)
