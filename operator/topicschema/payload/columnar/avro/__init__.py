"""Verdict programs for Avro: two versions compiled once to numbers, run over many messages without making an object.

`compile_program` knows schemas, the loop knows none. What a message is worth is told as payload/avro tells it of one:
the first thing that is wrong, where in the schema and at which byte. Values are not made here.
"""

from topicschema.payload.columnar.avro.compiler import compile_program
from topicschema.payload.columnar.avro.program import Program
from topicschema.payload.columnar.avro.validator import ProgramValidator, run

__all__ = ["Program", "ProgramValidator", "compile_program", "run"]
