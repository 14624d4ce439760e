"""A process that reads all messages of a file: `python -m support.validation.reading_process FILE`.

It prints the number of messages, the error if they cannot be read, and the memory (MiB) that reading added.
"""

import json
import sys

from support.memory import peak
from topicschema.validation.errors import SourceError
from topicschema.validation.request import FileSource
from topicschema.validation.sources.files.source import FileMessages

_MIB = 1024 * 1024


def main() -> None:
    """Read the file and print the result."""
    before = peak()
    source = FileMessages(FileSource((sys.argv[1],)))
    messages, message = 0, ""
    try:
        for split in source.plan().splits:
            for batch in source.read(split):
                messages += len(batch)
    except SourceError as error:
        message = error.message
    print(json.dumps({"messages": messages, "error": message, "memory": (peak() - before) // _MIB}))  # noqa: T201  # its result


if __name__ == "__main__":
    main()
