"""The bytes of a KEY_VALUE schema, as Pulsar stores them: `int32 length | key | int32 length | value`, big-endian.

Source: Pulsar's KeyValue.encode and decode (Pulsar 4.0), which use the same layout for INLINE messages.
"""

import struct
from typing import Final

from topicschema.core.errors import InvalidSchemaError, Place
from topicschema.core.formats.key_value.model import Side

_LENGTH: Final = struct.Struct(">i")
_NULL: Final = -1


def join(key: bytes, value: bytes) -> bytes:
    """Return the two schemas as one payload."""
    return _LENGTH.pack(len(key)) + key + _LENGTH.pack(len(value)) + value


def split(payload: bytes) -> tuple[bytes, bytes]:
    """Return the key's and the value's schema.

    Raises InvalidSchemaError KEY_VALUE_PAYLOAD if the broker cannot read it.

    A length of -1 (null) is an empty schema. As in the broker, what follows the value is ignored.
    """
    key, end = _piece(payload, 0, Side.KEY)
    value, _ = _piece(payload, end, Side.VALUE)
    return key, value


def _piece(payload: bytes, start: int, side: Side) -> tuple[bytes, int]:
    body = start + _LENGTH.size
    if len(payload) < body:
        raise _refusal(side, f"byte {start}: the length of the {side} takes 4 bytes, {len(payload) - start} left")
    (length,) = _LENGTH.unpack_from(payload, start)
    if length == _NULL:
        return b"", body
    if length < 0:
        raise _refusal(side, f"byte {start}: the {side} has the length {length}; only -1, for null, may be negative")
    if len(payload) - body < length:
        raise _refusal(side, f"byte {start}: the {side} has a length of {length}, {len(payload) - body} left")
    return payload[body : body + length], body + length


def _refusal(side: Side, message: str) -> InvalidSchemaError:
    return InvalidSchemaError("KEY_VALUE_PAYLOAD", message, Place(f"$.{side}"))
