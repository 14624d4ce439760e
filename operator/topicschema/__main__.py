"""DOOR: the command `topicschema`."""

import sys

from topicschema.cli.program import main

if __name__ == "__main__":
    sys.exit(main())
