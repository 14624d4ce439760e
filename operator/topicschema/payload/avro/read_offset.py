"""Bytes of another system before each AVRO message, for example Kafka Connect's or Debezium's schema id.

A property of the version states their number, for a part of a KEY_VALUE one of the part. A consumer with AUTO_CONSUME
skips them. Source: MultiVersionGenericAvroReader and GenericAvroReader of Pulsar's Java client (4.0.7).
"""

from typing import Final

from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats.avro import AvroSchema

READ_OFFSET: Final = "__AVRO_READ_OFFSET__"
_MAX: Final = 2**31 - 1
_MOST_DIGITS: Final = 100


def of(schema: AvroSchema) -> int:
    """Return the number of bytes that a consumer skips.

    Raises InvalidSchemaError READ_OFFSET if it can read no message: the client writes the property into the schema, and
    fails if that has another one.
    """
    stated = schema.info.properties.get(READ_OFFSET, "0")
    in_text = schema.root.props.get(READ_OFFSET, stated)
    if in_text != stated:
        message = f"the schema has an attribute {READ_OFFSET} that is not {stated!r}, the property's value"
        raise InvalidSchemaError("READ_OFFSET", message)
    digits = stated[1:] if stated[:1] in ("+", "-") else stated
    if not digits.isdecimal() or len(digits) > _MOST_DIGITS or not -_MAX - 1 <= int(stated) <= _MAX:
        raise InvalidSchemaError("READ_OFFSET", f"the property {READ_OFFSET} is no number of bytes: {stated!r}")
    return max(0, int(stated))
