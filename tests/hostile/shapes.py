"""The shapes of hostile documents as families: a text of some size, and a small change to it for each version."""

from collections.abc import Mapping
from contextlib import suppress
from functools import cache, partial
from typing import Final

from hostile import descriptors, floods, texts
from hostile.costly import Family
from support.schemas import avro_schemas
from topicschema.core import formats
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.schemas import SchemaInfo, SchemaType

_SHAPES: Final = (
    *(texts.nested, texts.nested_records, texts.circles, texts.doubling, texts.numbers),
    *(floods.strings, floods.blanks, floods.members, floods.alike, floods.references),
)


@cache
def _seed(shape: texts.Shape) -> int:
    """Return the first seed of which the shape makes a schema, 0 if none of the first hundred does."""
    for seed in range(100):
        text = texts.encoded(shape(avro_schemas.seeded(seed), 3_000))
        with suppress(InvalidSchemaError):
            formats.parse(SchemaInfo(SchemaType.AVRO, text))
            return seed
    return 0


def _changed(shape: texts.Shape, size: int, version: int) -> SchemaInfo:
    text = texts.encoded(shape(avro_schemas.seeded(_seed(shape)), size))
    field = b'"fields": [{"name": "added%d", "type": "int", "default": 0}, ' % version
    text = text.replace(b'"fields": [', field).replace(b"R", b"Q%d" % version).replace(b'"D', b'"C%d' % version)
    return SchemaInfo(SchemaType.AVRO, text)


def _envelope(size: int, version: int) -> SchemaInfo:
    made = descriptors.envelope(avro_schemas.seeded(size), size)
    return SchemaInfo(SchemaType.PROTOBUF_NATIVE, made + b" " * version)


SHAPES: Final[Mapping[str, Family]] = {
    **{f"hostile {each.__name__}": partial(_changed, each) for each in _SHAPES},
    "hostile envelope": _envelope,
}
