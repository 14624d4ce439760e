"""The program: parses the command line, then imports and runs what it names."""

import importlib
import os
import signal
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence

from topicschema.cli import arguments
from topicschema.cli.exits import BUG, WRONG_INPUT
from topicschema.cli.inputs.files import UsageError


def main(given: Sequence[str] | None = None) -> int:
    """Run what the arguments name; the exit code of the program."""
    options = arguments.parser().parse_args(given)
    # Imported here: no command pays for what only another one needs.
    module = importlib.import_module(options.module)
    if options.is_process:
        code: int = module.main()
        return code
    for signum in (signal.SIGINT, signal.SIGPIPE):
        signal.signal(signum, signal.SIG_DFL)  # a pipe closed by `head`, Ctrl-C: end as other filters do
    for stream in (sys.stdout, sys.stderr):
        if stream is None:  # closed by whoever started the program
            return WRONG_INPUT
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # text files, both of them
    return _ask(module.run, options)


def _ask(run: Callable[[Namespace], int], options: Namespace) -> int:
    try:
        code = run(options)
        sys.stdout.flush()
    except UsageError as error:
        print(f"topicschema {options.command}: {error}", file=sys.stderr)
        return WRONG_INPUT
    except OSError as error:  # a full disk, most likely; files that are named have their own words
        print(f"topicschema {options.command}: {error.strerror or error}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python fails on the same when it ends
        return WRONG_INPUT
    except Exception:  # noqa: BLE001  # Python's own exit code for it is 1, which would read as a verdict
        sys.excepthook(*sys.exc_info())
        return BUG
    return code
