"""Orders in a topic, some of which a newer schema cannot read.

Of 2,000,000 messages, 8,000 have a removed status and 4,994 are truncated. Other totals have the same proportions.
"""

from dataclasses import dataclass
from typing import Any, Final

from support.validation.topic_filling import Message

MESSAGES: Final = 2_000_000
_LOST, _CUT = 8_000, 4_994
_STATES: Final = ("OPEN", "PACKED", "LOST")
_MADE: Final = 500


def _order(*states: str, more: tuple[dict[str, Any], ...] = (), doc: str = "") -> dict[str, Any]:
    status = {"type": "enum", "name": "Status", "symbols": list(states)}
    fields = [{"name": "id", "type": "string"}, {"name": "status", "type": status}, {"name": "note", "type": "string"}]
    return {"type": "record", "name": "Order", "doc": doc, "fields": [*fields, *more]}


WRITTEN: Final = _order(*_STATES)
"""The producers' schema."""
WIDER: Final = _order(*_STATES, more=({"name": "channel", "type": "string", "default": ""},))
"""A schema that reads all messages that are not truncated."""
NARROWER: Final = _order(*_STATES[:2])
"""A schema that cannot read orders with the status LOST."""
NARROWER_STILL: Final = _order(*_STATES[:2], doc="the same in other words")


@dataclass(frozen=True, slots=True)
class Share:
    """The messages of a total that NARROWER cannot read, by reason."""

    messages: int

    @property
    def lost(self) -> int:
        return self.messages * _LOST // MESSAGES

    @property
    def cut(self) -> int:
        return self.messages * _CUT // MESSAGES

    @property
    def bad(self) -> int:
        return self.lost + self.cut

    @property
    def by_reason(self) -> list[dict[str, Any]]:
        """The reasons as in a status, the most frequent first."""
        reasons = [("UNKNOWN_SYMBOL", "$.status", self.lost), ("TRUNCATED", "$.note", self.cut)]
        return [{"reason": reason, "path": path, "messages": count} for reason, path, count in reasons]

    @property
    def parts(self) -> tuple[tuple[list[Message], int], ...]:
        """The messages to send, repeated, and the number of each part."""
        good = [_message(number, number % 2) for number in range(_MADE)]
        lost = [_message(number, 2) for number in range(_MADE)]
        cut = [(version, payload[:-1]) for version, payload in good]
        before = (self.messages - self.bad) // 2
        return (good, before), (lost, self.lost), (cut, self.cut), (good, self.messages - self.bad - before)


def whole(messages: int) -> tuple[list[Message], int]:
    """Return messages that every schema with all statuses can read, and their number."""
    return [_message(number, number % 3) for number in range(_MADE)], messages


def _message(number: int, status: int) -> Message:
    return 0, _text(f"order-{number}") + bytes([2 * status]) + _text("to be left with the caretakers")


def _text(text: str) -> bytes:
    return bytes([2 * len(text)]) + text.encode()
