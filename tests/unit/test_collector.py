"""That the program does not look through a large schema for circles again and again."""

import subprocess
import sys

from topicschema.__main__ import COLLECTOR

PROGRAM = """
import gc, sys
from topicschema.__main__ import main
main(["explain", "TYPE_MISMATCH"])
print(gc.get_threshold() == tuple(map(int, sys.argv[1:])))
"""


def test_the_program_sets_when_it_looks_for_circles() -> None:
    command = [sys.executable, "-c", PROGRAM, *map(str, COLLECTOR)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.endswith("\nTrue\n")
