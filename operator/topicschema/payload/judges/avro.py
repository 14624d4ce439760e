"""Judges AVRO messages, each version of the writer by a program of its own."""

from functools import partial
from typing import Final

from topicschema import payload
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats.avro import AvroSchema
from topicschema.payload.judges.judging import Reasons, Refusing, Seen, Sifting, nothing
from topicschema.payload.judges.verdicts import Judge

CANNOT_READ: Final = "CANNOT_READ"
REASONS: Final[Reasons] = {
    **dict.fromkeys(("TRUNCATED", "OUT_OF_RANGE", "NEGATIVE_LENGTH", "VARINT_TOO_LONG", "UNION_INDEX"), False),
    **dict.fromkeys(("ENUM_INDEX", "TOO_MANY_VALUES", "TOO_DEEP", "UNRESOLVABLE"), False),
    **dict.fromkeys(("TRAILING_BYTES", "INVALID_UTF8", "BLOCK_SIZE"), True),
}


def judge_of(reader: AvroSchema, writer: AvroSchema) -> Judge:
    """The judge of one version's messages."""
    try:
        read = payload.reader(reader, writer)
    except InvalidSchemaError:
        return Refusing(CANNOT_READ)
    return Sifting(REASONS, nothing, partial(_look, read))


def _look(read: payload.Reader, content: bytes) -> Seen | None:
    return Seen.first(read.read(content)[1])
