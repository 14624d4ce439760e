"""Judges JSON payloads: by a checker made for the schema, and by payload/json's walk where that one says no.

What a message has and its reader has not is a loss where its writer's schema had it, else a finding (UNKNOWN_FIELD).
"""

from topicschema.core.formats.avro import AvroSchema
from topicschema.payload.columnar.json import writer_types
from topicschema.payload.columnar.json.validator import JsonJudge
from topicschema.payload.columnar.verdicts import Judge

__all__ = ["judge_of"]


def judge_of(reader: AvroSchema, writer: AvroSchema | None) -> Judge:
    """The judge of one version's messages; of a version that nobody knows all unknown fields are findings."""
    return JsonJudge(reader.root, writer_types.NONE if writer is None else writer_types.of(writer.root))
