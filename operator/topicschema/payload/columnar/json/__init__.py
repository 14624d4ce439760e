"""Validator of JSON payloads: a checker generated for the schema, then payload/json's walk for rejected payloads.

A field that the reader does not have is a loss if its writer's schema had it, else a finding (UNKNOWN_FIELD).
"""

from topicschema.core.formats.avro import AvroSchema
from topicschema.payload.columnar.json import writer_types
from topicschema.payload.columnar.json.validator import JsonValidator
from topicschema.payload.columnar.verdicts import Validator

__all__ = ["validator_for"]


def validator_for(reader: AvroSchema, writer: AvroSchema | None) -> Validator:
    """Return the validator of one version's messages. For an unknown version all unknown fields are findings."""
    return JsonValidator(reader.root, writer_types.NONE if writer is None else writer_types.of(writer.root))
