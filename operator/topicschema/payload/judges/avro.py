"""Judges AVRO messages, those of each version by a program of its own. payload/programs knows all else."""

from topicschema.core.formats.avro import AvroSchema
from topicschema.payload.judges.verdicts import Judge
from topicschema.payload.programs import ProgramJudge, compile_program


def judge_of(reader: AvroSchema, writer: AvroSchema) -> Judge:
    """The judge of one version's messages; for any two versions there is one."""
    return ProgramJudge(compile_program(reader, writer))
