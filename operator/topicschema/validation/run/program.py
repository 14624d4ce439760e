"""Frame of a pod's program: its arguments, its termination message, and its exit status."""

import argparse
import os
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from topicschema.core.errors import TopicSchemaError
from topicschema.validation.job.result import MAX_BYTES

FAILED: Final = 3
"""Exit status of a program that failed for a known reason, which its termination message names."""
BUG: Final = 70
_TERMINATION_LOG: Final = "/dev/termination-log"


class ProgramEnd(NamedTuple):
    """End of a program: its termination message and exit status."""

    message: bytes
    status: int


def run_program(description: str, run: Callable[[Path], ProgramEnd], arguments: Sequence[str] | None) -> int:
    """Call `run` with the folder that the arguments name. Write its termination message, and return the exit status."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("folder", type=Path, help="folder with what the Job mounts")
    default = os.environ.get("TOPICSCHEMA_TERMINATION_LOG", _TERMINATION_LOG)
    parser.add_argument("--termination-log", type=Path, default=Path(default), help="file for the result")
    options = parser.parse_args(arguments)
    try:
        end = run(options.folder)
    except TopicSchemaError as error:
        end = _failed(f"{error.reason}: {error.message}", FAILED)
    except Exception as error:  # noqa: BLE001  # a bug is no result: neither Python's status 1 nor silence
        traceback.print_exc()
        end = _failed(f"a bug: {type(error).__name__}; see its log", BUG)
    options.termination_log.write_bytes(end.message)
    return end.status


def end_at_signal() -> None:
    """End this process at SIGTERM.

    The first process of a container ignores signals without a handler. A deleted pod would stay for its grace period.
    """
    signal.signal(signal.SIGTERM, lambda *_: os._exit(128 + signal.SIGTERM))


def _failed(why: str, status: int) -> ProgramEnd:
    print(why, file=sys.stderr, flush=True)
    return ProgramEnd(why.encode(errors="replace")[:MAX_BYTES], status)
