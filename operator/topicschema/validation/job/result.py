"""Termination message of a driver, which the operator reads: the verdict, or the executors that the run needs.

A kubelet stores 4,096 bytes of it. A verdict that is too large is shortened in the order of `_SHORTER`. The whole
report is in the driver's log.
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

FORMAT: Final = 2
MAX_BYTES: Final = 4096
"""Maximum bytes of a termination message."""
PASSED_STATUS: Final = 0
FAILED_STATUS: Final = 42
"""Exit status of a driver whose messages do not pass. Any other one except PASSED_STATUS is a failed run."""
_NOWHERE: Final[Mapping[str, str]] = MappingProxyType({})


class MessagesVerdict(StrEnum):
    """Verdict on the messages: they pass or fail."""

    PASS = "Pass"  # noqa: S105 - no password
    FAIL = "Fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictDocument:
    """Verdict on one request and the figures behind it. `request_hash` is the `sha256` of the ValidationRequest.

    `by_reason` has the most frequent reason first. `read_to` is where reading ended, by the name of a partition or
    file. `topic_missing` is True if the topic did not exist and therefore had no messages. `plan` is who judged and
    why.
    """

    request_hash: str
    verdict: MessagesVerdict
    messages: int
    invalid: int
    by_reason: tuple[ReasonStatus, ...] = ()
    examples: tuple[ExampleStatus, ...] = ()
    read_to: Mapping[str, str] = field(default_factory=lambda: _NOWHERE)
    notes: tuple[str, ...] = ()
    topic_missing: bool | None = None
    plan: str = ""
    format: int = FORMAT

    @property
    def exit_status(self) -> int:
        """The driver's exit status."""
        return PASSED_STATUS if self.verdict is MessagesVerdict.PASS else FAILED_STATUS

    @property
    def text(self) -> bytes:
        """The JSON, shortened to the size of a termination message."""
        shorter = self
        for less in _SHORTER:
            while len(written := _written(shorter)) > MAX_BYTES and getattr(shorter, less):
                shorter = replace(shorter, **{less: _less(getattr(shorter, less))})
            if len(written) <= MAX_BYTES:
                break
        return _written(shorter)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorsNeeded:
    """End of a run that needs this number of Spark executors. `request_hash` is as in VerdictDocument."""

    request_hash: str
    executors: int
    format: int = FORMAT

    @property
    def text(self) -> bytes:
        """The JSON."""
        return json.dumps(encode(self), separators=(",", ":")).encode()


def read(text: bytes | str) -> VerdictDocument | ExecutorsNeeded | None:
    """Return the document in a termination message. Return None if it has none, or one of another format."""
    try:
        wire = json.loads(text)
        if "executors" in wire:
            needed = decode(ExecutorsNeeded, wire)
            return needed if needed.format == FORMAT and needed.executors > 0 else None
        document = decode(VerdictDocument, wire)
    except (ValueError, TypeError, RecursionError, StalledError):
        return None
    is_sound = document.format == FORMAT and 0 <= document.invalid <= document.messages
    return document if is_sound else None


_SHORTER: Final = ("read_to", "notes", "examples", "by_reason")


def _less(value: Any) -> Any:
    return _NOWHERE if isinstance(value, Mapping) else value[: len(value) * 7 // 8]


def _written(document: VerdictDocument) -> bytes:
    return json.dumps(encode(document), separators=(",", ":"), ensure_ascii=True).encode()
