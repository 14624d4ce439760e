"""Comparison of schema texts: small ones in the event loop, large ones in a worker process."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from topicschema.core import compatibility, formats, parts
from topicschema.core.checkers import BUILT_IN
from topicschema.core.compatibility import Predecessor
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.parts import Findings
from topicschema.core.schemas import PulsarVersion, Schema, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy
from topicschema.storage.lru_cache import LruCache

_CACHE_BYTES: Final = 32 * 1024 * 1024
_BYTES_PER_BYTE: Final = 10
_BYTES_PER_SCHEMA: Final = 2_000

_Key = tuple[SchemaType, str, PulsarVersion]


@dataclass(frozen=True, slots=True)
class Request:
    """The candidate as text, and the parameters of its comparison.

    `is_equal` is True if the broker considers it equal to an earlier version. `is_first` is True for the first part,
    whose answer also has the risks of the candidate itself.
    """

    candidate: SchemaInfo
    pulsar_version: PulsarVersion
    strategy: Strategy
    is_equal: bool = False
    is_first: bool = True


class Version(NamedTuple):
    """An earlier version. Without `info` only its type is compared. If `is_compared` is False, it must only parse."""

    schema_version: int | None
    type: SchemaType
    info: SchemaInfo | None
    is_compared: bool = True


class Result(NamedTuple):
    """Findings, the parse errors of versions by version number, and the CPU time."""

    findings: Findings
    unreadable: Mapping[int, InvalidSchemaError]
    cpu_seconds: float = 0.0


def size_of(request: Request, versions: Sequence[Version]) -> int:
    """Return the bytes of all texts."""
    return len(request.candidate.schema) + sum(len(each.info.schema) for each in versions if each.info)


class Comparer:
    """Parser and comparison of schemas, with a cache of parsed schemas.

    `cache_bytes` limits the estimated size of the cache. Versions are immutable, so no entry is stale.
    """

    def __init__(self, cache_bytes: int = _CACHE_BYTES) -> None:
        self._cache: LruCache[_Key, Schema] = LruCache(cache_bytes)

    def compare(self, request: Request, versions: Sequence[Version], most_steps: int) -> Result:
        """Return the result for one part of the versions, newest first.

        Raise InvalidSchemaError if the candidate does not parse.
        """
        began = time.process_time()
        candidate = self.parse(request.candidate, request.pulsar_version)
        predecessors, unreadable = list[Predecessor](), dict[int, InvalidSchemaError]()
        for number, kind, info, is_compared in versions:
            schema = None
            try:
                schema = None if info is None else self.parse(info, request.pulsar_version)
            except InvalidSchemaError as error:
                if number is not None:
                    unreadable[number] = error
            if is_compared:
                predecessors.append(Predecessor(number, kind, schema))
        findings = Findings()
        if request.is_equal:
            for each in predecessors:
                findings.risks += compatibility.risks_of_equal(candidate, each)
        else:
            findings.risks += compatibility.self_risks(candidate) if request.is_first else ()
            findings += parts.compare(candidate, predecessors, request.strategy, BUILT_IN, most_steps)
        return Result(findings, unreadable, time.process_time() - began)

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


def compare(request: Request, versions: Sequence[Version], most_steps: int) -> Result:
    """Return the result of `Comparer.compare` with the worker's own cache."""
    return _OF_WORKER.compare(request, versions, most_steps)


def fingerprint(info: SchemaInfo, pulsar_version: PulsarVersion) -> str:
    """Return the fingerprint of the parsed schema, with the worker's own cache. Raise InvalidSchemaError."""
    return _OF_WORKER.parse(info, pulsar_version).fingerprint
