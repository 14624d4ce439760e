"""The JSON envelope of a PROTOBUF_NATIVE schema's descriptors, read as Jackson reads it on the broker.

Source: Pulsar's ProtobufNativeSchemaData, read by its ObjectMapper (Pulsar 4.0). It is plain JSON without comments;
unknown members and anything after the object are ignored. The base64 has padding and the plain or the URL alphabet.
Deliberately refused beyond that: UTF-16, and names that are not strings.
"""

import base64
import binascii
import json
import re
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from topicschema.core.errors import InvalidSchemaError, Place
from topicschema.core.formats import json_text

_SPACE: Final = " \t\r\n"
_BLANKS: Final = re.compile("[\x00-\x20]+")
_BASE64_GROUP: Final = 4
_PLAIN: Final = str.maketrans("-_", "+/")


@dataclass(frozen=True, slots=True)
class Envelope:
    """The content of an envelope. `file_descriptor_set` is a serialized FileDescriptorSet."""

    file_descriptor_set: bytes
    root_message: str
    root_file: str


def read(schema: bytes) -> Envelope:
    """Return the envelope. Raises InvalidSchemaError NOT_UTF8, SYNTAX, TOO_DEEP or NOT_AN_ENVELOPE if it is invalid."""
    try:
        text = schema.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidSchemaError("NOT_UTF8", f"byte {error.start} is not UTF-8") from None
    value = _first_value(text)
    if not isinstance(value, dict):
        _refuse("$", "an object with fileDescriptorSet, rootMessageTypeName and rootFileDescriptorName is expected")
    return Envelope(
        file_descriptor_set=_base64(_member(value, "fileDescriptorSet")),
        root_message=_member(value, "rootMessageTypeName"),
        root_file=_member(value, "rootFileDescriptorName"),
    )


def _first_value(text: str) -> Any:
    start = len(text) - len(text.lstrip(_SPACE))
    try:
        _, end = json.JSONDecoder(parse_constant=_no_number).raw_decode(text, start)
    except RecursionError:
        end = len(text)
    except ValueError:
        json_text.read(text)  # raises with the place, unless the cause is only comments
        message = "an envelope is plain JSON, without comments"
        raise InvalidSchemaError("SYNTAX", message, json_text.place_of(text, start)) from None
    return json_text.read(text[:end])


def _no_number(word: str) -> NoReturn:
    raise ValueError(word)


def _member(envelope: dict[str, Any], name: str) -> str:
    value = envelope.get(name)
    if not isinstance(value, str):
        _refuse("$" if value is None else f"$.{name}", f"{name} is missing, or not a string")
    return value


def _base64(text: str) -> bytes:
    pieces = _BLANKS.split(text)
    try:
        if any(len(piece) % _BASE64_GROUP for piece in pieces):
            raise binascii.Error
        return base64.b64decode("".join(pieces).translate(_PLAIN), validate=True)
    except ValueError:
        _refuse("$.fileDescriptorSet", "fileDescriptorSet is not base64 with its padding")


def _refuse(path: str, message: str) -> NoReturn:
    raise InvalidSchemaError("NOT_AN_ENVELOPE", message, Place(path))
