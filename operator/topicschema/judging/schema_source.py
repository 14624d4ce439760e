"""The schema of a TopicSchema's spec: a text, a KEY_VALUE pair, or compiled Protobuf sources.

The webhook and the controller share this code, so that the operator registers the schema that the webhook reviewed.
"""

from dataclasses import replace

from topicschema.api.schemas import PartSpec
from topicschema.api.topicschemas import TopicSchemaSpec
from topicschema.core.compatibility import Incompatibility
from topicschema.core.errors import InvalidSchemaError, Place
from topicschema.core.formats import key_value
from topicschema.core.formats.key_value import KeyValue, Part, Side
from topicschema.core.lru_cache import LruCache
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType
from topicschema.protoc import ProtobufSources, compile_envelope_async, file_of

SCHEMA_FIELD = "spec.schema"
_CACHE_BYTES = 16 * 1024 * 1024


def sources_of(spec: TopicSchemaSpec) -> ProtobufSources | None:
    """Return the Protobuf sources of the schema, or None if the spec has it in Pulsar's own form."""
    if spec.type is not SchemaType.PROTOBUF_NATIVE or spec.protobuf is None:
        return None
    return ProtobufSources(spec.protobuf.message, spec.protobuf.files)


def info_of(spec: TopicSchemaSpec) -> SchemaInfo:
    """Return the schema as a broker stores it, of a spec without Protobuf sources.

    The JSON of a pair's parts is compacted, as over REST. Raise InvalidSchemaError if a part is not JSON.
    """
    if spec.type is not SchemaType.KEY_VALUE or spec.key_value is None:
        return SchemaInfo(spec.type, spec.schema.encode(), dict(spec.properties))
    pair = spec.key_value
    parts = KeyValue(_part(Side.KEY, pair.key), _part(Side.VALUE, pair.value), pair.encoding)
    return key_value.encode(parts, spec.properties)


def size_of(spec: TopicSchemaSpec) -> int:
    """Return the number of characters of the schema in its spec, as an estimate of its cost."""
    parts = (spec.key_value.key, spec.key_value.value) if spec.key_value else ()
    return len(spec.schema) + sum(len(part.schema) for part in parts)


def field_of(spec: TopicSchemaSpec, path: str) -> str:
    """Return the field of the resource that has the place `path`, a JSON path from `$` in its schema."""
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


def with_spec_field(finding: Incompatibility, spec: TopicSchemaSpec) -> Incompatibility:
    """Return the finding. If its path is `spec.schema`, replace it with the field that has the schema."""
    return replace(finding, path=field_of(spec, "$")) if finding.path == SCHEMA_FIELD else finding


def _part(side: Side, part: PartSpec) -> Part:
    try:
        schema = key_value.compacted(part.schema)
    except InvalidSchemaError as error:
        where = f"{error.message} ({error.place} of the {side}'s schema)"
        raise InvalidSchemaError(error.rule, where, Place(f"$.{side}")) from None
    return Part(SchemaInfo(part.type, schema, dict(part.properties)), part.name)


class CompiledEnvelopes:
    """A cache of the envelopes of compiled sources, with a limit in bytes."""

    def __init__(self, limit: int = _CACHE_BYTES) -> None:
        self._cache: LruCache[tuple[str, PulsarVersion], bytes] = LruCache(limit)

    async def get(self, sources: ProtobufSources, pulsar_version: PulsarVersion) -> bytes:
        """Return the envelope. Raise InvalidSchemaError with rule and place, or WaitingError if the system fails."""
        key = sources.source_hash, pulsar_version
        envelope = self._cache.get(key)
        if envelope is None:
            envelope = await compile_envelope_async(sources, pulsar_version=pulsar_version)
            self._cache.put(key, envelope, len(envelope))
        return envelope
