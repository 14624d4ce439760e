"""The command `topicschema`."""

import gc
import sys
from collections.abc import Sequence
from typing import Final

from topicschema.cli import main as cli_main

COLLECTOR: Final = (20_000, 10, 10)
"""After how many objects Python looks for circles among them (`gc.set_threshold`).

With its own figures a schema of 3 MB makes it look through everything there is up to nine times while one question is
answered, which takes longer than the answer.
"""


def main(given: Sequence[str] | None = None) -> int:
    """Run what the arguments name; the exit code of the program."""
    gc.set_threshold(*COLLECTOR)
    return cli_main.main(given)


if __name__ == "__main__":
    sys.exit(main())
