"""Comparison of schema texts: small ones in the event loop, large ones in a worker process."""

import time
from collections.abc import Sequence
from typing import Final

from topicschema.core import comparison, formats
from topicschema.core.comparison import ComparisonRequest, ComparisonResult, Earlier
from topicschema.core.lru_cache import LruCache
from topicschema.core.schemas import PulsarVersion, Schema, SchemaInfo, SchemaType

_CACHE_BYTES: Final = 32 * 1024 * 1024
_BYTES_PER_BYTE: Final = 10
_BYTES_PER_SCHEMA: Final = 2_000

_Key = tuple[SchemaType, str, PulsarVersion]


def size_of(request: ComparisonRequest, versions: Sequence[Earlier]) -> int:
    """Return the bytes of all texts."""
    return len(request.candidate.schema) + sum(len(each.info.schema) for each in versions if each.info)


class Comparer:
    """Parser and comparison of schemas, with a cache of parsed schemas.

    `cache_bytes` limits the estimated size of the cache. Versions are immutable, so no entry is stale.
    """

    def __init__(self, cache_bytes: int = _CACHE_BYTES) -> None:
        self._cache: LruCache[_Key, Schema] = LruCache(cache_bytes)

    def compare(
        self, request: ComparisonRequest, newest_first: Sequence[Earlier], most_steps: int
    ) -> tuple[ComparisonResult, float]:
        """Return the result of `core.comparison.compare`, and its CPU time in seconds."""
        began = time.process_time()
        result = comparison.compare(request, newest_first, most_steps, self.parse)
        return result, time.process_time() - began

    def parse(self, info: SchemaInfo, pulsar_version: PulsarVersion) -> Schema:
        """Return the parsed schema, cached if possible. Raise InvalidSchemaError with rule and place."""
        schema = self.get_cached(info.type, info.content_hash, pulsar_version)
        if schema is None:
            schema = formats.parse(info, pulsar_version)
            self.cache(schema, pulsar_version, _BYTES_PER_BYTE * len(info.schema))
        return schema

    def get_cached(self, kind: SchemaType, content_hash: str, pulsar_version: PulsarVersion) -> Schema | None:
        """Return the cached schema, or None."""
        return self._cache.get((kind, content_hash, pulsar_version))

    def cache(self, schema: Schema, pulsar_version: PulsarVersion, size: int) -> None:
        """Cache a schema of about `size` bytes."""
        self._cache.put((schema.info.type, schema.info.content_hash, pulsar_version), schema, _BYTES_PER_SCHEMA + size)


_OF_WORKER: Final = Comparer(_CACHE_BYTES // 2)


def compare(
    request: ComparisonRequest, newest_first: Sequence[Earlier], most_steps: int
) -> tuple[ComparisonResult, float]:
    """Return the result of `Comparer.compare` with the worker's own cache."""
    return _OF_WORKER.compare(request, newest_first, most_steps)


def fingerprint(info: SchemaInfo, pulsar_version: PulsarVersion) -> str:
    """Return the fingerprint of the parsed schema, with the worker's own cache. Raise InvalidSchemaError."""
    return _OF_WORKER.parse(info, pulsar_version).fingerprint
