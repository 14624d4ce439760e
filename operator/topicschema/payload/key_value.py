"""Payloads of KEY_VALUE. INLINE is `int32 length | key | int32 length | value`, SEPARATED has the key as the message's.

Source: Pulsar's KeyValue.encode and decode and KeyValueSchemaImpl (Pulsar 4.0). A pair of schemas has the same layout
(core/formats/key_value/payload), in which null and empty are equal. Here they differ.
"""

import struct
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from topicschema.core.errors import InvalidPayloadError
from topicschema.core.formats.key_value import Encoding, Side
from topicschema.core.schemas import SchemaType
from topicschema.payload.codec import Codec, wrong_type
from topicschema.payload.finding import PayloadFinding, Unreadable, counted, tolerated, trailing, unreadable

_LENGTH: Final = struct.Struct(">i")
_NULL: Final = -1


class Pair(NamedTuple):
    """Key and value, None for null."""

    key: Any
    value: Any


@dataclass(frozen=True, slots=True)
class KeyValueCodec:
    """Codec of an INLINE pair. A SEPARATED one is read and written by parts."""

    key: Codec
    value: Codec
    encoding: Encoding
    kinds: tuple[SchemaType, SchemaType]
    """Types of the key and the value."""

    def read(self, payload: bytes, findings: list[PayloadFinding]) -> Pair:
        """Return the pair of an INLINE payload."""
        key, start, end = self._piece(payload, 0, Side.KEY)
        value, value_start, last = self._piece(payload, end, Side.VALUE)
        pair = Pair(
            self.read_part(Side.KEY, key, findings, start),
            self.read_part(Side.VALUE, value, findings, value_start),
        )
        if last < len(payload):
            findings.append(tolerated("TRAILING_BYTES", trailing(payload, last, "the value"), last))
        return pair

    def write(self, value: Any) -> bytes:
        """Return the INLINE payload of a Pair."""
        key, content = self.write_parts(value)
        return b"".join(
            _LENGTH.pack(_NULL) if part is None else _LENGTH.pack(len(part)) + part for part in (key, content)
        )

    def read_part(self, side: Side, part: bytes | None, findings: list[PayloadFinding], start: int = 0) -> Any:
        """Return the key or the value, whose bytes begin at byte `start`. Null is None."""
        if part is None:
            return None
        inner: list[PayloadFinding] = []
        try:
            return self._codec(side).read(part, inner)
        except Unreadable as stop:
            raise Unreadable(stop.finding.within(f"$.{side}", start)) from None
        finally:
            findings.extend(finding.within(f"$.{side}", start) for finding in inner)

    def write_parts(self, value: Any) -> tuple[bytes | None, bytes | None]:
        """Return the key's and the value's bytes."""
        if not isinstance(value, Pair):
            raise wrong_type("a Pair", value)
        return self._write_part(Side.KEY, value.key), self._write_part(Side.VALUE, value.value)

    def part(self, side: Side, payload: bytes | None, key: bytes | None) -> bytes | None:
        """Return the bytes of a part that was read."""
        if self.encoding is Encoding.SEPARATED:
            return key if side is Side.KEY else payload
        try:
            part, _, end = self._piece(payload or b"", 0, Side.KEY)
            return part if side is Side.KEY else self._piece(payload or b"", end, Side.VALUE)[0]
        except Unreadable:
            return None

    def of(self, side: Side) -> tuple[Codec, SchemaType]:
        """Return a part's codec and type."""
        return self._codec(side), self.kinds[side is Side.VALUE]

    def _write_part(self, side: Side, value: Any) -> bytes | None:
        if value is None:
            return None
        try:
            return self._codec(side).write(value)
        except InvalidPayloadError as error:
            raise InvalidPayloadError(error.rule, error.message, f"$.{side}{error.path[1:]}") from None

    def _codec(self, side: Side) -> Codec:
        return self.key if side is Side.KEY else self.value

    @staticmethod
    def _piece(payload: bytes, start: int, side: Side) -> tuple[bytes | None, int, int]:
        """Return the part's bytes, None for null, with the positions of their begin and end."""
        path = f"$.{side}"
        body = start + _LENGTH.size
        if len(payload) < body:
            message = f"the length of the {side} takes 4 bytes, {len(payload) - start} left"
            raise unreadable("TRUNCATED", message, start, path)
        (length,) = _LENGTH.unpack_from(payload, start)
        if length == _NULL:
            return None, body, body
        if length < 0:
            message = f"the {side} has the length {length}; only -1, for null, may be negative"
            raise unreadable("NEGATIVE_LENGTH", message, start, path)
        if len(payload) - body < length:
            message = f"the {side} takes {counted(length)}, {len(payload) - body} left"
            raise unreadable("TRUNCATED", message, body, path)
        return payload[body : body + length], body, body + length
