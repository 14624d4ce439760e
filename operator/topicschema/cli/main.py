"""The program: parses the command line, then imports and runs the command."""

import importlib
import os
import signal
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence

from topicschema.cli import arguments
from topicschema.cli.check.excerpt import printable_lines
from topicschema.cli.exits import BUG, WRONG_INPUT
from topicschema.cli.inputs.files import UsageError


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return the exit code of the program."""
    options = arguments.parser().parse_args(argv)
    # Imported here, so that no command pays for the imports of another.
    module = importlib.import_module(options.module)
    if options.is_process:
        code: int = module.main()
        return code
    for signum in (signal.SIGINT, signal.SIGPIPE):
        signal.signal(signum, signal.SIG_DFL)  # a pipe closed by `head`, Ctrl-C: end as other filters do
    for stream in (sys.stdout, sys.stderr):
        if stream is None:  # closed by the calling process
            return WRONG_INPUT
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # both are text files
    return _run(module.run, options)


def _run(run: Callable[[Namespace], int], options: Namespace) -> int:
    try:
        code = run(options)
        sys.stdout.flush()
    except UsageError as error:
        print(f"topicschema {options.command}: {printable_lines(str(error))}", file=sys.stderr)
        return WRONG_INPUT
    except OSError as error:  # most likely a full disk; named files have their own messages
        print(f"topicschema {options.command}: {error.strerror or error}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python fails on it again at its end
        return WRONG_INPUT
    except Exception:  # noqa: BLE001  # Python's own exit code for it is 1, which would mean a verdict
        sys.excepthook(*sys.exc_info())
        return BUG
    return code
