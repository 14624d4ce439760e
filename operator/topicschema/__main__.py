"""The command `topicschema`."""

import gc
import sys
from collections.abc import Sequence
from typing import Final

from topicschema.cli import main as cli_main

COLLECTOR: Final = (20_000, 10, 10)
"""Thresholds of Python's garbage collector (`gc.set_threshold`).

With the default ones a schema of 3 MB causes up to nine full collections for one answer, which takes longer than the
answer itself.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return the exit code of the program."""
    gc.set_threshold(*COLLECTOR)
    return cli_main.main(argv)


if __name__ == "__main__":
    sys.exit(main())
