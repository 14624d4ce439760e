"""Runs commands of the product one after the other, in a process of its own: `python -m support.commands_process`.

Standard input has the arguments of each as a line of JSON; for each a line comes back, with its exit code and what it
printed. To start an interpreter costs more than most commands, and the tests' own is no place for them: they take its
signals.
"""

import io
import json
import sys
from contextlib import redirect_stdout

from topicschema.cli import program


def main() -> None:
    """Run them, and tell."""
    answers = sys.stdout
    for line in sys.stdin:
        printed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
        with redirect_stdout(printed):
            code = program.main(json.loads(line))
        printed.seek(0)
        answers.write(json.dumps({"code": code, "printed": printed.read()}) + "\n")


if __name__ == "__main__":
    main()
