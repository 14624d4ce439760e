"""Text of a message's value in a report, or of its first bytes if it has no value.

A report has it only if the request includes values.
"""

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

from topicschema import payload
from topicschema.core import formats
from topicschema.core.errors import InvalidPayloadError, InvalidSchemaError
from topicschema.core.schemas import PulsarVersion, Schema, SchemaInfo
from topicschema.payload import display_json

MAX_SHOWN: Final = 512
"""Maximum characters of a value."""
_MAX_READ: Final = 64 * 1024
"""Maximum bytes of a payload whose value is decoded. Of a larger one, the report shows the first bytes."""
_FIRST: Final = 64


def of(
    candidate: SchemaInfo, versions: Mapping[int, SchemaInfo], pulsar_version: PulsarVersion
) -> Callable[[bytes | None, bytes | None, int], str]:
    """Return the function that renders a message (payload, key, schema version) as text.

    It decodes with the schema of that version, or with the candidate if there is none.
    """
    schema_of = _schemas(candidate, versions, pulsar_version)

    def shown(content: bytes | None, key: bytes | None, version: int) -> str:
        schema = schema_of(version)
        if content is None:
            return "null"
        text = None if schema is None or len(content) > _MAX_READ else _value(schema, content, key)
        return _capped(text) if text is not None else _bytes(content)

    return shown


def formats_of(
    candidate: SchemaInfo, versions: Mapping[int, SchemaInfo], pulsar_version: PulsarVersion
) -> Callable[[bytes | None, bytes | None, int], str | None]:
    """Return the function that names the other format that an invalid message begins like, or returns None."""
    schema_of = _schemas(candidate, versions, pulsar_version)

    def format_of(content: bytes | None, key: bytes | None, version: int) -> str | None:
        schema = schema_of(version)
        if schema is None or content is None or len(content) > _MAX_READ:
            return None
        try:
            return payload.reader(schema).format_of(content, key)
        except InvalidSchemaError:
            return None

    return format_of


def _schemas(
    candidate: SchemaInfo, versions: Mapping[int, SchemaInfo], pulsar_version: PulsarVersion
) -> Callable[[int], Schema | None]:
    """Return the function that returns the schema of a version, or the candidate if there is none."""

    @lru_cache(maxsize=16)
    def schema_of(version: int) -> Schema | None:
        try:
            return formats.parse(versions.get(version, candidate), pulsar_version)
        except InvalidSchemaError:
            return None

    return schema_of


def _value(schema: Schema, content: bytes, key: bytes | None) -> str | None:
    try:
        value, findings = payload.reader(schema).read(content, key)
        if all(each.is_tolerated for each in findings):
            return json.dumps(display_json.to_json(schema, value), ensure_ascii=False)
    except (InvalidPayloadError, InvalidSchemaError, RecursionError):
        pass
    return None


def _bytes(content: bytes) -> str:
    more = f" and {len(content) - _FIRST:,} bytes more" if len(content) > _FIRST else ""
    return f"bytes {content[:_FIRST].hex()}{more}"


def _capped(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "…"
