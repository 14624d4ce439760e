"""From a TopicSchema's spec to the schema that is judged: texts, pairs, and protobuf's sources compiled.

Webhook and controller both come here, so that what was reviewed is what is registered.
"""

from dataclasses import replace

from topicschema.api.schemas import PartSpec
from topicschema.api.topicschemas import TopicSchemaSpec
from topicschema.core.compatibility import Incompatibility
from topicschema.core.errors import InvalidSchemaError, Place
from topicschema.core.formats import key_value
from topicschema.core.formats.key_value import KeyValue, Part, Side
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.protoc import ProtobufSources, compile_envelope_async, file_of
from topicschema.storage.lru_cache import LruCache

SCHEMA_FIELD = "spec.schema"
_KEPT_BYTES = 16 * 1024 * 1024


def sources_of(spec: TopicSchemaSpec) -> ProtobufSources | None:
    """The sources that the schema is compiled from, None where it is written down as Pulsar takes it."""
    if spec.type is not SchemaType.PROTOBUF_NATIVE or spec.protobuf is None:
        return None
    return ProtobufSources(spec.protobuf.message, spec.protobuf.files)


def info_of(spec: TopicSchemaSpec) -> SchemaInfo:
    """The schema as a broker stores it, of a spec without sources.

    InvalidSchemaError where a part of a pair is not JSON, which is written anew without space as it is over REST.
    """
    if spec.type is not SchemaType.KEY_VALUE or spec.key_value is None:
        return SchemaInfo(spec.type, spec.schema.encode(), dict(spec.properties))
    pair = spec.key_value
    parts = KeyValue(_part(Side.KEY, pair.key), _part(Side.VALUE, pair.value), pair.encoding)
    return key_value.encode(parts, spec.properties)


def size_of(spec: TopicSchemaSpec) -> int:
    """How many characters the schema has in its spec: what reading it costs."""
    parts = (spec.key_value.key, spec.key_value.value) if spec.key_value else ()
    return len(spec.schema) + sum(len(part.schema) for part in parts)


def field_of(spec: TopicSchemaSpec, path: str) -> str:
    """The field of the resource in which the place `path` (a JSON path from `$`) of its schema stands."""
    if spec.type is SchemaType.KEY_VALUE and spec.key_value is not None:
        side = next((side for side in Side if path.startswith(f"$.{side}")), None)
        return f"spec.keyValue.{side}.schema" if side else "spec.keyValue"
    sources = sources_of(spec)
    if sources is None:
        return SCHEMA_FIELD
    if path == "$.message":
        return "spec.protobuf.message"
    file = file_of(path, sources.files)
    return f"spec.protobuf.files[{file}]" if file else "spec.protobuf"


def placed(finding: Incompatibility, spec: TopicSchemaSpec) -> Incompatibility:
    """The finding, said of the field that the schema really stands in where it is said of `spec.schema`."""
    return replace(finding, path=field_of(spec, "$")) if finding.path == SCHEMA_FIELD else finding


def _part(side: Side, part: PartSpec) -> Part:
    try:
        schema = key_value.compacted(part.schema)
    except InvalidSchemaError as error:
        where = f"{error.message} ({error.place} of the {side}'s schema)"
        raise InvalidSchemaError(error.rule, where, Place(f"$.{side}")) from None
    return Part(SchemaInfo(part.type, schema, dict(part.properties)), part.name)


class Envelopes:
    """What sources were compiled to, kept within a bound of bytes."""

    def __init__(self, limit: int = _KEPT_BYTES) -> None:
        self._cache: LruCache[str, bytes] = LruCache(limit)

    async def get(self, sources: ProtobufSources) -> bytes:
        """The envelope; InvalidSchemaError with rule and place, WaitingError when the machine is at fault."""
        key = sources.source_hash
        envelope = self._cache.get(key)
        if envelope is None:
            envelope = await compile_envelope_async(sources)
            self._cache.put(key, envelope, len(envelope))
        return envelope
