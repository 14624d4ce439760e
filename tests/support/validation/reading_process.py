"""Reads all messages of a file, in a process of its own: `python -m support.validation.reading_process FILE`.

Prints how many there are, or why they cannot be read, and how much more memory (MiB) that took than to be ready for it.
"""

import json
import sys

from support.memory import peak
from topicschema.validation.errors import SourceError
from topicschema.validation.request import FileSource
from topicschema.validation.sources.files.source import FileMessages

_MIB = 1024 * 1024


def main() -> None:
    """Read, and tell."""
    before = peak()
    source = FileMessages(FileSource((sys.argv[1],)))
    messages, said = 0, ""
    try:
        for split in source.plan().splits:
            for batch in source.read(split):
                messages += len(batch)
    except SourceError as error:
        said = error.message
    print(json.dumps({"messages": messages, "said": said, "memory": (peak() - before) // _MIB}))  # noqa: T201  # its answer


if __name__ == "__main__":
    main()
