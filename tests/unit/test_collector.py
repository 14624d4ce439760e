"""Python's garbage collector, which does not search a large schema for reference cycles many times."""

import subprocess
import sys

from topicschema.__main__ import COLLECTOR

PROGRAM = """
import gc, sys
from topicschema.__main__ import main
main(["explain", "TYPE_MISMATCH"])
print(gc.get_threshold() == tuple(map(int, sys.argv[1:])))
"""


def test_the_program_sets_the_thresholds_of_the_collector() -> None:
    command = [sys.executable, "-c", PROGRAM, *map(str, COLLECTOR)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.endswith("\nTrue\n")
