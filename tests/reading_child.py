"""Reads all messages of a file, in a process of its own: `python -m reading_child FILE`.

Prints how many there are, or why they cannot be read, and how much more memory (MiB) that took than to be ready for it.
"""

import json
import sys
from pathlib import Path

from topicschema.spark.errors import SourceError
from topicschema.spark.question import FilesAsked
from topicschema.spark.sources.files import Files


def peak() -> int:
    """What this process has had in memory at most, in MiB."""
    # getrusage begins with the peak of whoever started it.
    status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) // 1024


def main() -> None:
    """Read, and tell."""
    before = peak()
    source = Files(FilesAsked((sys.argv[1],)))
    messages, said = 0, ""
    try:
        for split in source.plan().splits:
            for batch in source.read(split):
                messages += len(batch)
    except SourceError as error:
        said = error.message
    print(json.dumps({"messages": messages, "said": said, "memory": peak() - before}))  # noqa: T201  # its answer


if __name__ == "__main__":
    main()
