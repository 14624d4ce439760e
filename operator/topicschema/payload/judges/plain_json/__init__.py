"""Judges JSON payloads: by a checker made for the schema, and by payload/plain_json's walk where that one says no.

What a message has and its reader has not is a loss where its writer's schema had it, else a finding (UNKNOWN_FIELD).
"""

from topicschema.core.formats.avro import AvroSchema
from topicschema.payload.judges.plain_json import counterparts
from topicschema.payload.judges.plain_json.judge import JsonJudge
from topicschema.payload.judges.verdicts import Judge

__all__ = ["judge_of"]


def judge_of(reader: AvroSchema, writer: AvroSchema | None) -> Judge:
    """The judge of one version's messages; of a version that nobody knows all unknown fields are findings."""
    return JsonJudge(reader.root, counterparts.NONE if writer is None else counterparts.of(writer.root))
