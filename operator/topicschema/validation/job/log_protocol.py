"""Lines on standard output with the driver's progress and report, written by the driver and read from its log.

A log has other lines, too (Spark's, Python's), and may lack its beginning.
"""

import base64
import json
import lzma
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from topicschema.validation.errors import InvalidRequestError

PROGRESS: Final = "TOPICSCHEMA-PROGRESS "
REPORT: Final = "TOPICSCHEMA-REPORT "
CHUNK: Final = 8 * 1024
"""Maximum characters of the packed report in one line. A container runtime splits lines at 16 KiB."""
MAX_REPORT: Final = 8 * 1024 * 1024
"""Maximum bytes of an unpacked report, several times the size of a real one. A log is not trusted."""
_CHUNK_LINE: Final = re.compile(r"TOPICSCHEMA-REPORT ([1-9]\d{0,5})/([1-9]\d{0,5}) ([A-Za-z0-9+/=]+)\s*")


def progress_line(percent: int, **more: int) -> str:
    """Return the line that reports the progress of a run in percent."""
    return PROGRESS + json.dumps({"percent": percent, **more})


def report_lines(report: bytes) -> Iterator[str]:
    """Yield the lines that contain a report."""
    packed = base64.b64encode(lzma.compress(report, preset=6)).decode()
    chunks = [packed[start : start + CHUNK] for start in range(0, len(packed), CHUNK)]
    for number, chunk in enumerate(chunks, 1):
        yield f"{REPORT}{number}/{len(chunks)} {chunk}"


def progress_in(lines: Iterable[str]) -> Mapping[str, Any] | None:
    """Return the content of the last complete progress line. Return None if there is none."""
    progress: Mapping[str, Any] | None = None
    for line in lines:
        if line.startswith(PROGRESS):
            progress = _progress(line.removeprefix(PROGRESS)) or progress
    return progress


def report_in(lines: Iterable[str]) -> bytes | None:
    """Return the report. Return None if the log has none, or only a part of it.

    Raises InvalidRequestError if the report is damaged.
    """
    chunks: dict[int, str] = {}
    total = 0
    for line in lines:
        match = _CHUNK_LINE.fullmatch(line)
        if match is None:
            continue
        if int(match[1]) == 1:  # a report starts again: the previous one was not finished, or is replaced
            chunks, total = {}, int(match[2])
        chunks[int(match[1])] = match[3]
    if not total or len(chunks) != total or set(chunks) != set(range(1, total + 1)):
        return None
    return _unpacked("".join(chunks[number] for number in range(1, total + 1)))


def _progress(text: str) -> Mapping[str, Any] | None:
    try:
        progress = json.loads(text)
    except (ValueError, RecursionError):
        return None
    is_one = isinstance(progress, dict) and isinstance(progress.get("percent"), int) and 0 <= progress["percent"] <= 100  # noqa: PLR2004
    return progress if is_one else None


def _unpacked(packed: str) -> bytes:
    unpacking = lzma.LZMADecompressor(format=lzma.FORMAT_XZ)
    try:
        report = unpacking.decompress(base64.b64decode(packed, validate=True), max_length=MAX_REPORT)
    except (ValueError, lzma.LZMAError):
        raise InvalidRequestError("the report in the log is damaged") from None
    if not unpacking.eof:
        raise InvalidRequestError("the report in the log is not whole, or larger than 8 MiB")
    return report
