"""Judges JSON payloads: by a checker made for the schema, and by payload/json's walk where that one says no.

What a message has and its reader has not is a loss where its writer's schema had it, else a finding (UNKNOWN_FIELD).
"""

from topicschema.core.formats.avro import AvroSchema
from topicschema.payload.columnar.json import writer_types
from topicschema.payload.columnar.json.validator import JsonValidator
from topicschema.payload.columnar.verdicts import Validator

__all__ = ["validator_for"]


def validator_for(reader: AvroSchema, writer: AvroSchema | None) -> Validator:
    """The validator of one version's messages; of a version that nobody knows all unknown fields are findings."""
    return JsonValidator(reader.root, writer_types.NONE if writer is None else writer_types.of(writer.root))
