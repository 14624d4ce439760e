"""Notes on a schema by itself: warnings under any strictness."""

from topicschema.core.compatibility import Incompatibility
from topicschema.core.formats.avro import AvroSchema
from topicschema.core.formats.avro.doubles import stored_as_floats
from topicschema.core.formats.key_value import KeyValueSchema, Side
from topicschema.core.schemas import Schema, SchemaType


def notes_of(schema: Schema) -> tuple[Incompatibility, ...]:
    """Return the notes on a new version, whatever the earlier ones are."""
    paths = _arrays_of_doubles(schema)
    if not paths:
        return ()
    others = f" and {len(paths) - 1:,} more" if paths[1:] else ""
    message = (
        f"consumers with AUTO_CONSUME or a generated class get the doubles of the array at {paths[0]}{others} as "
        'floats; make the items ["null", "double"], or read with a class that has a List<Double>'
    )
    return (Incompatibility("ARRAY_OF_DOUBLES_AS_FLOATS", paths[0], message),)


def _arrays_of_doubles(schema: Schema) -> list[str]:
    if isinstance(schema, KeyValueSchema):
        parts = zip(Side, (schema.key, schema.value), strict=True)
        return [f"$.{side}{path[1:]}" for side, part in parts for path in _arrays_of_doubles(part)]
    text = schema.info.schema
    may_have_arrays = b"array" in text or b"\\u" in text  # the search below takes a twentieth of `check --git`
    if may_have_arrays and isinstance(schema, AvroSchema) and schema.info.type is SchemaType.AVRO:
        return stored_as_floats(schema.root, schema.library)
    return []
