"""Risks of a pair's properties for consumers: the broker neither compares them nor requires them."""

from collections.abc import Iterator, Mapping

from topicschema.core.formats.format import Mismatch
from topicschema.core.formats.key_value.model import Encoding, KeyValue


def between(reader: KeyValue, writer: KeyValue) -> Iterator[Mismatch]:
    """Yield what a reader of the pair loses or misreads, without its parts."""
    if reader.encoding is not writer.encoding:
        message = (
            f"{{writer}} has {_named(writer.encoding)}, {{reader}} {_named(reader.encoding)}: consumers look for the "
            "key where it is not; keep the encoding, or use another topic"
        )
        yield Mismatch("ENCODING_CHANGED", message, "$", "$", is_mutual=True)


def self_risks(pair: KeyValue, properties: Mapping[str, str]) -> Iterator[Mismatch]:
    """Yield the pair's own risks, which do not depend on earlier versions."""
    for side, part in pair.parts:
        if f"{side}.schema.type" not in properties:
            consequence = (
                "its schema is stored and no client reads by it" if part.info.schema else "consumers get plain bytes"
            )
            message = f"the {side} has no type, so it is BYTES: {consequence}; add the property {side}.schema.type"
            yield _trap("PART_TYPE_MISSING", message, f"$.{side}")
    if pair.encoding is None:
        message = "kv.encoding.type is no encoding that a client knows; write INLINE or SEPARATED"
        yield _trap("UNKNOWN_ENCODING", message, "$")


def _trap(rule: str, message: str, path: str) -> Mismatch:
    return Mismatch(rule, message, path, path, is_mutual=True)


def _named(encoding: Encoding | None) -> str:
    return "an unknown encoding" if encoding is None else f"the encoding {encoding}"
