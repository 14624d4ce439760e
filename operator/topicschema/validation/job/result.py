"""The verdict document: what a run's driver leaves as its termination message, and what the operator believes.

A kubelet keeps 4,096 bytes of it, so what is too much is left out from the end: examples first. The whole report is in
the driver's log.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

from topicschema.api.validation import ExampleStatus, ReasonStatus
from topicschema.api.wire import decode, encode
from topicschema.core.errors import StalledError

FORMAT: Final = 1
MAX_BYTES: Final = 4096
"""Of a termination message."""
PASSED_STATUS: Final = 0
FAILED_STATUS: Final = 42
"""The driver's exit statuses; any other one is a run that failed, and never a verdict."""
_NOWHERE: Final[Mapping[str, str]] = MappingProxyType({})


class Answer(StrEnum):
    """Whether the messages pass."""

    PASS = "Pass"  # noqa: S105 - no password
    FAIL = "Fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictDocument:
    """The answer to one question (its sha256, as `Question` tells it), and what led to it.

    `by_reason` has the most frequent first; `read_to` is where the reading ended, by the name of a partition or file;
    `topic_missing` tells of a topic that did not exist, which therefore had no messages.
    """

    question: str
    verdict: Answer
    messages: int
    invalid: int
    by_reason: tuple[ReasonStatus, ...] = ()
    examples: tuple[ExampleStatus, ...] = ()
    read_to: Mapping[str, str] = field(default_factory=lambda: _NOWHERE)
    notes: tuple[str, ...] = ()
    topic_missing: bool | None = None
    format: int = FORMAT

    @property
    def exit_status(self) -> int:
        """What the driver ends with."""
        return PASSED_STATUS if self.verdict is Answer.PASS else FAILED_STATUS

    @property
    def text(self) -> bytes:
        """The JSON, in as many bytes as a termination message may have."""
        kept = self
        for less in _SHORTER:
            while len(written := _written(kept)) > MAX_BYTES and getattr(kept, less):
                kept = replace(kept, **{less: _less(getattr(kept, less))})
            if len(written) <= MAX_BYTES:
                break
        return _written(kept)


def read(text: bytes | str) -> VerdictDocument | None:
    """The document that a termination message is; None where it is none, or one of another format."""
    try:
        wire = json.loads(text)
        document = decode(VerdictDocument, wire)
    except (ValueError, RecursionError, StalledError):
        return None
    is_sound = document.format == FORMAT and 0 <= document.invalid <= document.messages
    return document if is_sound else None


_SHORTER: Final = ("read_to", "notes", "examples", "by_reason")


def _less(value: Any) -> Any:
    return _NOWHERE if isinstance(value, Mapping) else value[: len(value) * 7 // 8]


def _written(document: VerdictDocument) -> bytes:
    return json.dumps(encode(document), separators=(",", ":"), ensure_ascii=True).encode()
