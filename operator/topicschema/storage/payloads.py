"""A bounded memory of payloads, by content hash: what is kept can be neither stale nor another topic's."""

from collections import OrderedDict

from topicschema.core.schemas import SchemaInfo

_OVERHEAD_BYTES = 600


class PayloadCache:
    """Payloads, the longest unused out first; never more than `capacity` bytes by estimate."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._kept: OrderedDict[str, SchemaInfo] = OrderedDict()
        self._bytes = 0

    def get(self, content_hash: str) -> SchemaInfo | None:
        """The payload, if it is kept."""
        payload = self._kept.get(content_hash)
        if payload is not None:
            self._kept.move_to_end(content_hash)
        return payload

    def put(self, payload: SchemaInfo) -> None:
        """Keep the payload, unless it alone is more than the capacity."""
        content_hash = payload.content_hash
        if content_hash in self._kept or weight(payload) > self._capacity:
            return
        self._kept[content_hash] = payload
        self._bytes += weight(payload)
        while self._bytes > self._capacity:
            _, oldest = self._kept.popitem(last=False)
            self._bytes -= weight(oldest)


def weight(payload: SchemaInfo) -> int:
    """About how many bytes a payload takes in memory."""
    properties = sum(len(key) + len(value) + _OVERHEAD_BYTES for key, value in payload.properties.items())
    return len(payload.schema) + properties + _OVERHEAD_BYTES
