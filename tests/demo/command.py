"""The command line of the demo and of the quick start: up or down."""

import argparse
import sys
from collections.abc import Callable

from demo.errors import DemoError
from testbed.errors import TestbedError


def run(
    name: str, description: str | None, up: Callable[[], None], down: Callable[[], None], arguments: list[str] | None
) -> int:
    """Run the command and return the exit status: 0, 1 after an error, or 130 if it was interrupted."""
    parser = argparse.ArgumentParser(
        name, description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", nargs="?", choices=["up", "down"], default="up")
    options = parser.parse_args(arguments)
    try:
        down() if options.command == "down" else up()
    except (DemoError, TestbedError) as error:
        print(f"\n{name}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"\n{name}: interrupted; what was started still runs (make {name}-down ends it)", file=sys.stderr)
        return 130
    return 0
