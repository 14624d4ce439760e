"""Bounded cache of payloads by content hash. An entry can be neither stale nor another topic's."""

from collections import OrderedDict

from topicschema.core.schemas import SchemaInfo

_OVERHEAD_BYTES = 600


class PayloadCache:
    """Least recently used cache of payloads, bounded by `capacity` in estimated bytes."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._cached: OrderedDict[str, SchemaInfo] = OrderedDict()
        self._bytes = 0

    def get(self, content_hash: str) -> SchemaInfo | None:
        """Return the payload, or None if it is not cached."""
        payload = self._cached.get(content_hash)
        if payload is not None:
            self._cached.move_to_end(content_hash)
        return payload

    def put(self, payload: SchemaInfo) -> None:
        """Cache the payload, unless it alone exceeds the capacity."""
        content_hash = payload.content_hash
        if content_hash in self._cached or weight(payload) > self._capacity:
            return
        self._cached[content_hash] = payload
        self._bytes += weight(payload)
        while self._bytes > self._capacity:
            _, oldest = self._cached.popitem(last=False)
            self._bytes -= weight(oldest)


def weight(payload: SchemaInfo) -> int:
    """Return the estimated size of a payload in memory, in bytes."""
    properties = sum(len(key) + len(value) + _OVERHEAD_BYTES for key, value in payload.properties.items())
    return len(payload.schema) + properties + _OVERHEAD_BYTES
