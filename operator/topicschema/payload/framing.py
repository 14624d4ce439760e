"""Beginnings of payloads that are those of another format. They hint at the cause of a finding."""

import base64
import binascii
import json
import re
from collections.abc import Callable
from typing import Final

from topicschema.core.schemas import SchemaType

IsValid = Callable[[bytes], bool]
_BEGINNINGS: Final = (
    (b"Obj\x01", "an Avro container file (Obj, 01), which holds a schema and many records"),
    (b"\xc3\x01", "Avro's single-object encoding (C3 01, then 8 bytes of the schema's fingerprint)"),
    (b"\x1f\x8b", "data compressed by gzip (1F 8B)"),
    (b"\x28\xb5\x2f\xfd", "data compressed by Zstandard (28 B5 2F FD)"),
    (b"BZh", "data compressed by bzip2 (BZh)"),
    (b"\xfd7zXZ\0", "data compressed by xz"),
    (b"\x04\x22\x4d\x18", "data compressed by LZ4"),
    (b"PK\x03\x04", "a ZIP archive (PK)"),
    (b"PAR1", "a Parquet file (PAR1)"),
    (b"\xac\xed\x00\x05", "Java's own serialization (AC ED 00 05)"),
)
_CONFLUENT_BYTES: Final = 5
_STRUCTS: Final = frozenset({SchemaType.AVRO, SchemaType.JSON, SchemaType.PROTOBUF, SchemaType.PROTOBUF_NATIVE})
_TEXTS: Final = frozenset({SchemaType.STRING, SchemaType.JSON, SchemaType.BYTES, SchemaType.NONE})
_BASE64: Final = re.compile(rb"(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?\s*")
_HEX: Final = re.compile(rb"(?:[0-9A-Fa-f]{2}){4,}\s*")
_MOST: Final = 64 * 1024
"""Maximum bytes of a payload that is read as text."""


def format_of(kind: SchemaType, payload: bytes, is_valid: IsValid, *, is_read: bool) -> str | None:
    """Return the format that the payload of the type, which has findings, begins like, or None.

    `is_valid` returns True if other bytes are a payload of the same schema. `is_read` means that consumers read on.
    """
    for beginning, name in _BEGINNINGS:
        if payload.startswith(beginning):
            return name
    is_framed = kind in _STRUCTS and payload[:1] == b"\0" and len(payload) > _CONFLUENT_BYTES
    if is_framed and ((payload[1] == 0 and not is_read) or is_valid(payload[_CONFLUENT_BYTES:])):
        return "a message of Confluent's schema registry (00, then a schema id of 4 bytes)"
    return _text(kind, payload, is_valid) if len(payload) <= _MOST else None


def _text(kind: SchemaType, payload: bytes, is_valid: IsValid) -> str | None:
    if kind is SchemaType.JSON:
        return "JSON that is encoded twice, as a text within a text" if _is_json_in_json(payload) else None
    if kind in _TEXTS:
        return None
    if payload.lstrip()[:1] in (b"{", b"[") and _json(payload) is not None:
        return "JSON text"
    if _HEX.fullmatch(payload) and is_valid(binascii.unhexlify(payload.strip())):
        return "hexadecimal text"
    if _BASE64.fullmatch(payload) and is_valid(base64.b64decode(payload)):
        return "base64 text"
    return None


def _is_json_in_json(payload: bytes) -> bool:
    text = _json(payload)
    return isinstance(text, str) and text.lstrip()[:1] in ("{", "[") and _json(text.encode()) is not None


def _json(text: bytes) -> object:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value
