"""Exit codes of the commands that answer questions (docs/cli.md)."""

from typing import Final

COMPATIBLE: Final = 0
"""Yes, or done."""
INCOMPATIBLE: Final = 1
"""No: the broker would refuse the schema, or the text is no schema."""
WRONG_INPUT: Final = 2
"""No answer: a file cannot be read, or an option or a line is wrong. argparse has the same code."""
NO_ANSWER: Final = 3
"""No answer: messages cannot be read, or a cluster does not answer."""
BUG: Final = 70
"""A bug (EX_SOFTWARE). Python's own code 1 would mean a verdict."""
