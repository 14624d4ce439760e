"""The weight of payloads in memory."""

from typing import Final

from topicschema.core.schemas import SchemaInfo

_OVERHEAD_BYTES: Final = 600


def weight(payload: SchemaInfo) -> int:
    """Return the estimated size of a payload in memory, in bytes."""
    properties = sum(len(key) + len(value) + _OVERHEAD_BYTES for key, value in payload.properties.items())
    return len(payload.schema) + properties + _OVERHEAD_BYTES
