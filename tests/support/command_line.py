"""Commands of the product, run in this process: to start an interpreter costs more than most of them do."""

import gc
import io
import signal
import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from subprocess import CompletedProcess
from tempfile import TemporaryFile
from unittest import mock

from topicschema import __main__

_SIGNALS = (signal.SIGINT, signal.SIGPIPE)


def run(folder: Path, *arguments: str, stdin: str = "") -> CompletedProcess[str]:
    """Run `topicschema` with the arguments in the folder, with real files as its standard streams."""
    with _restore_process_settings(), chdir(folder), _file() as input_file, _file() as output, _file() as errors:
        input_file.write(stdin)
        input_file.seek(0)
        with mock.patch.object(sys, "stdin", input_file), redirect_stdout(output), redirect_stderr(errors):
            try:
                code = __main__.main(arguments)
            except SystemExit as end:  # argparse's
                code = int(end.code or 0)
        return CompletedProcess(arguments, code, _text(output), _text(errors))


def run_line(folder: Path, line: str, stdin: str = "") -> CompletedProcess[str]:
    """Run `topicschema` with the words of the line."""
    return run(folder, *line.split(), stdin=stdin)


def _file() -> io.TextIOWrapper:
    return io.TextIOWrapper(TemporaryFile(), encoding="utf-8")


def _text(file: io.TextIOWrapper) -> str:
    file.seek(0)
    return file.read()


@contextmanager
def _restore_process_settings() -> Iterator[None]:
    """Restore the settings of this process that a command changes."""
    handlers, threshold = {number: signal.getsignal(number) for number in _SIGNALS}, gc.get_threshold()
    try:
        yield
    finally:
        gc.set_threshold(*threshold)
        for number, handler in handlers.items():
            signal.signal(number, handler)
