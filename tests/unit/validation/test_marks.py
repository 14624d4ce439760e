"""The marked lines of a driver's output are read back from a log with other lines."""

import base64
import random
from collections.abc import Iterable

import pytest

from topicschema.validation.errors import InvalidRequestError
from topicschema.validation.job import log_protocol

REPORT = random.Random(1).randbytes(50_000)  # noqa: S311  # the same each time
LINES = list(log_protocol.report_lines(REPORT))


def test_a_report_is_read_back_whole_from_between_other_lines() -> None:
    assert len(LINES) > 5
    assert all(len(line) < 16_000 for line in LINES)
    log = [each for line in LINES for each in ("26/11/21 WARN something", line + "\n", "TOPICSCHEMA-REPORT what?")]
    assert log_protocol.report_in(log) == REPORT


@pytest.mark.parametrize(
    ("lines", "report"),
    [
        (LINES[1:], None),
        (LINES[:-1], None),
        ([], None),
        ([*LINES[:3], *log_protocol.report_lines(b"newer")], b"newer"),
        (log_protocol.report_lines(bytes(log_protocol.MAX_REPORT)), bytes(log_protocol.MAX_REPORT)),
    ],
)
def test_last_whole_report_counts(lines: Iterable[str], report: bytes | None) -> None:
    assert log_protocol.report_in(lines) == report


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([f"TOPICSCHEMA-REPORT 1/1 {base64.b64encode(bytes(99)).decode()}"], "damaged"),
        (log_protocol.report_lines(bytes(log_protocol.MAX_REPORT + 1)), "larger than 8 MiB"),
    ],
)
def test_damaged_report_is_refused(lines: Iterable[str], words: str) -> None:
    with pytest.raises(InvalidRequestError, match=words):
        log_protocol.report_in(lines)


def test_the_last_progress_counts_and_what_is_none_is_passed_over() -> None:
    lines = (log_protocol.progress_line(10), log_protocol.progress_line(30, messages=3))
    log = [*lines, "TOPICSCHEMA-PROGRESS {", "TOPICSCHEMA-PROGRESS 7"]
    assert log_protocol.progress_in(log) == {"percent": 30, "messages": 3}
    assert log_protocol.progress_in(["nothing"]) is None
