"""Codec: the interface of every schema for reading and writing payloads."""

from typing import Any, Final, Protocol

from topicschema.core.errors import InvalidPayloadError
from topicschema.core.formats.avro.model import Array, Map, Record
from topicschema.payload.finding import PayloadFinding

HOLDERS: Final = (Record, Array, Map)
"""Avro types whose values hold others."""


class Codec(Protocol):
    """Reader and writer of the payloads of one schema."""

    def read(self, payload: bytes, findings: list[PayloadFinding]) -> Any:
        """Return the value. Faults on which reading continues are added to `findings`.

        Raises Unreadable if reading cannot continue. The value has no meaning if a finding is not tolerated.
        """

    def write(self, value: Any) -> bytes:
        """Return the payload. Raises InvalidPayloadError without an offset if the value does not fit the schema."""


def refused(rule: str, message: str, path: str = "$") -> InvalidPayloadError:
    """Return the refusal of a value that is to be written."""
    return InvalidPayloadError(rule, message, path)


def wrong_type(expected: str, value: object, path: str = "$") -> InvalidPayloadError:
    """Return the refusal of a value of another type. The message names the type, never the value."""
    return refused("WRONG_TYPE", f"{expected} is needed, this is {_SHOWN.get(type(value), 'something else')}", path)


_SHOWN: dict[type, str] = {
    type(None): "null",
    bool: "a boolean",
    int: "an integer",
    float: "a floating-point number",
    str: "a text",
    bytes: "bytes",
    list: "a list",
    dict: "a mapping",
}
