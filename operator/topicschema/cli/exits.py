"""The exit codes of the commands that answer questions (docs/cli.md)."""

from typing import Final

COMPATIBLE: Final = 0
"""Yes, or: done."""
INCOMPATIBLE: Final = 1
"""No: the broker would refuse it, or the text is no schema."""
WRONG_INPUT: Final = 2
"""The question cannot be asked: a file cannot be read, an option or a line is wrong (argparse's own code, too)."""
BUG: Final = 70
"""A bug of ours (EX_SOFTWARE); Python's own 1 would read as a verdict."""
