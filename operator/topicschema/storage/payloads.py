"""The weight of payloads in memory."""

from typing import Final

from topicschema.core.schemas import SchemaInfo

_OVERHEAD_BYTES: Final = 600


def weight(payload: SchemaInfo) -> int:
    """About how many bytes a payload takes in memory."""
    properties = sum(len(key) + len(value) + _OVERHEAD_BYTES for key, value in payload.properties.items())
    return len(payload.schema) + properties + _OVERHEAD_BYTES
