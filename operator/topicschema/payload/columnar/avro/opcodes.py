"""Instructions of a verdict program with their two operands, and the limits of all programs.

An instruction is a row of four integers: operation, two operands, and the path of the value concerned. Those before
UNION read one value, by its kind alone, and continue with the next instruction.
"""

from typing import Final

OP, FIRST, SECOND, PATH = range(4)
"""Columns of an instruction. A path p of a value that the reader drops, or within one, is -1 - p."""

INT: Final = 0
LONG: Final = 1
BOOLEAN: Final = 2
SIZED: Final = 3  # number of bytes: a fixed, a float, a double
BYTES: Final = 4
STRING: Final = 5
ENUM: Final = 6  # number of symbols
UNION: Final = 7  # position of its branches' instructions in the table, and their number
JUMP: Final = 8  # to an instruction
DROP: Final = 9  # the loss, its kind: of the field that is read next, or of the value that was read last
EMPTY: Final = 10  # a value that takes no bytes
CALL: Final = 11  # a body's first instruction, and the depth of the call
RETURN: Final = 12
LEVEL: Final = 13  # a record, with its depth in its body
FAIL: Final = 14  # the reason, at the next byte
FAIL_BEFORE: Final = 15  # the reason, at the index of the union
END: Final = 16
LOOP: Final = 17  # the instruction after the last item, and the depth in the body
NEXT: Final = 18  # the instruction at which an item begins
SYMBOL: Final = 19  # position of the symbols in the table, and their number; a DROP after it is that of replaced ones
ROUNDED_INT: Final = 20  # the bits of the reader's mantissa; the DROP after it is that of larger numbers
ROUNDED_LONG: Final = 21  # as before
NARROWED: Final = 22  # a double that is stored as a float; the DROP after it is that of a changed one
PRESENT: Final = 23  # a column has a record, or a branch of a union; only in programs that write columns, as ABSENT
ABSENT: Final = 24  # a column has the default of a field that is not written
READS: Final = LOOP
"""First instruction after which bytes are read."""

UNCHANGED, UNKNOWN, REPLACED = range(3)
"""Results for an enum's symbol."""

MAX_DEPTH: Final = 700  # as in payload/avro
MAX_EMPTY: Final = 20_000  # values that take no bytes, in any payload, and one more for each byte: as in payload/avro
MAX_STEPS: Final = 100_000  # steps that read nothing, in any payload
STEPS_A_BYTE: Final = 64  # more of them for each byte
MAX_INSTRUCTIONS: Final = 200_000
"""Maximum instructions of a program, and entries of its table. Schemas of 400 kB need about ten thousand."""
MAX_INLINED: Final = 500  # levels of records that are read inline instead of called
