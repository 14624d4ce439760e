"""Verdict programs for Avro: two versions compiled once to numbers, and run over many messages without objects.

Only `compile_program` uses schemas, the loop has none. A verdict is that of payload/avro for the same message: the
first fault, its path in the schema and its byte. A program that is compiled with a `Target` also writes the values of
valid messages into columns. Import `output` for that: its loop is another one.
"""

from topicschema.payload.columnar.avro.compiler import compile_program
from topicschema.payload.columnar.avro.program import Program
from topicschema.payload.columnar.avro.validator import ProgramValidator, run

__all__ = ["Program", "ProgramValidator", "compile_program", "run"]
