"""What every schema offers to those who have bytes or values."""

from typing import Any, Final, Protocol

from topicschema.core.errors import InvalidPayloadError
from topicschema.core.formats.avro.model import Array, Map, Record
from topicschema.payload.finding import Finding

HOLDERS: Final = (Record, Array, Map)
"""The Avro types whose values hold others."""


class Codec(Protocol):
    """Reads and writes the payloads of one schema."""

    def read(self, payload: bytes, found: list[Finding]) -> Any:
        """The value; what is wrong but lets the reading go on is added to `found`.

        Unreadable where it cannot go on. The value means nothing when `found` has anything that is not tolerated.
        """

    def write(self, value: Any) -> bytes:
        """The payload; InvalidPayloadError without an offset where the value is none of the schema's."""


def refused(rule: str, message: str, path: str = "$") -> InvalidPayloadError:
    """The refusal of a value that is to be written."""
    return InvalidPayloadError(rule, message, path)


def wrong_type(wanted: str, value: object, path: str = "$") -> InvalidPayloadError:
    """The refusal of a value of another type; what it is stays unsaid, its type is told."""
    return refused("WRONG_TYPE", f"{wanted} is needed, this is {_SHOWN.get(type(value), 'something else')}", path)


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
