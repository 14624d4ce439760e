"""Program of a validation pod: `python -m topicschema.validation.run.driver FOLDER` with the request in FOLDER.

Standard output has marked lines (see `log_protocol`). The termination message is the verdict document, the number of
Spark executors that the run needs, or the reason for a failure. The exit status is 0 if the messages pass or executors
are needed, and 42 if the messages do not pass. Any other one is a failed run without a verdict.
"""

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from topicschema.validation.errors import InvalidRequestError
from topicschema.validation.job import log_protocol
from topicschema.validation.job.manifest import EXECUTOR_TEMPLATE
from topicschema.validation.job.result import PASSED_STATUS, ExecutorsNeeded
from topicschema.validation.report.report import Report
from topicschema.validation.request import ValidationRequest, read
from topicschema.validation.run import runner, session
from topicschema.validation.run.program import ProgramEnd, end_at_signal, run_program
from topicschema.validation.run.workload import Workload
from topicschema.validation.sources import opening

_PARTS: Final = "request.xz.*"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the driver and return its exit status."""
    return run_program(__doc__ or "", _run, arguments)


def _run(folder: Path) -> ProgramEnd:
    end = _end(read_request(folder), folder)
    if isinstance(end, ExecutorsNeeded):
        return ProgramEnd(end.text, PASSED_STATUS)
    for line in log_protocol.report_lines(end.text):
        print(line, flush=True)
    return ProgramEnd(end.verdict.text, end.verdict.exit_status)


def read_request(folder: Path) -> ValidationRequest:
    """Return the request from its parts in the folder. Raises InvalidRequestError if parts are missing."""
    try:
        parts = [part.read_bytes() for part in sorted(folder.glob(_PARTS))]
    except OSError as error:
        raise InvalidRequestError(f"{folder}: {error.strerror}") from None
    if not parts:
        raise InvalidRequestError(f"{folder} has no request")
    return read(b"".join(parts))


def _end(request: ValidationRequest, folder: Path) -> Report | ExecutorsNeeded:
    source = opening.source_of(request, time.time_ns() // 1_000_000)
    plan, progress = source.plan(), _progress_printer()
    if not request.executors:
        if needed := Workload.of(request, plan).executors(request):
            return ExecutorsNeeded(request_hash=request.sha256, executors=needed)
        return runner.run(request, source, plan=plan, progress=progress)
    spark_settings = session.settings(request.executors, folder / EXECUTOR_TEMPLATE)
    with session.started(spark_settings, request.event_log) as spark:
        return runner.run(request, source, plan=plan, workers=spark, progress=progress)


def _progress_printer() -> Callable[[int, int], None]:
    """Return the function that prints a progress line for each new percent."""
    last = -1

    def print_percent(done: int, whole: int) -> None:
        nonlocal last
        percent = 100 * done // whole if whole else 100
        if percent > last:
            last = percent
            print(log_protocol.progress_line(min(percent, 100), messages=done, of=whole), flush=True)

    return print_percent


if __name__ == "__main__":
    end_at_signal()
    sys.exit(main())
