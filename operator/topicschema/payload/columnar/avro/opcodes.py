"""The instructions of a verdict program: what each does with its two operands, and the limits that all keep to.

An instruction is a row of four integers: operation, two operands, and the path of the value that it is about. Those
before UNION read one value, by its kind alone, and go on to the next instruction.
"""

from typing import Final

OP, FIRST, SECOND, PATH = range(4)
"""The columns of an instruction. A path p of a value that the reader drops, or within one, is -1 - p."""

INT: Final = 0
LONG: Final = 1
BOOLEAN: Final = 2
SIZED: Final = 3  # so many bytes: a fixed, a float, a double
BYTES: Final = 4
STRING: Final = 5
ENUM: Final = 6  # of so many symbols
UNION: Final = 7  # where in the table its branches' instructions stand, how many they are
JUMP: Final = 8  # to an instruction
DROP: Final = 9  # the loss, its kind: of the field that is read next, or the value that was read last
EMPTY: Final = 10  # a value that takes no bytes
CALL: Final = 11  # a body's first instruction, how many levels down it is called
RETURN: Final = 12
LEVEL: Final = 13  # a record, so many levels down in its body
FAIL: Final = 14  # the reason, at the byte that comes next
FAIL_BEFORE: Final = 15  # the reason, at the index of the union
END: Final = 16
LOOP: Final = 17  # where to go on when there are no items (more), how many levels down in its body
NEXT: Final = 18  # where an item begins
SYMBOL: Final = 19  # where in the table the symbols stand, how many they are; a DROP behind it is of those replaced
ROUNDED_INT: Final = 20  # the bits of the reader's mantissa; the DROP behind it is of the numbers that have more
ROUNDED_LONG: Final = 21  # as before
READS: Final = LOOP
"""From this one on there is something to read."""

KEPT, UNKNOWN, REPLACED = range(3)
"""What becomes of an enum's symbol."""

MAX_DEPTH: Final = 10_000  # as payload/avro
MAX_EMPTY: Final = 20_000  # values that take no bytes, in any payload, and one more for each byte: as payload/avro
MAX_STEPS: Final = 100_000  # that read nothing, in any payload
STEPS_A_BYTE: Final = 64  # more of them for each byte
MAX_INSTRUCTIONS: Final = 200_000
"""Of a program, and entries of its table. Schemas of 400 kB need some ten thousand."""
MAX_INLINED: Final = 500  # levels of records that are read in place and not called
