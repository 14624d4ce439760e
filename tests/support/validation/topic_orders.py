"""Orders in a topic: what producers wrote, some of which a newer schema cannot read, and how many of which.

Of 2,000,000 messages 8,000 have a status that is no more, and 4,994 were cut off: of fewer as many in proportion.
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
"""What the producers write with."""
WIDER: Final = _order(*_STATES, more=({"name": "channel", "type": "string", "default": ""},))
"""Reads all that is whole."""
NARROWER: Final = _order(*_STATES[:2])
"""Reads no order that is lost."""
NARROWER_STILL: Final = _order(*_STATES[:2], doc="the same in other words")


@dataclass(frozen=True, slots=True)
class Share:
    """How many of so many messages cannot be read with NARROWER, and why."""

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
        """As a status tells it, most first."""
        found = [("UNKNOWN_SYMBOL", "$.status", self.lost), ("TRUNCATED", "$.note", self.cut)]
        return [{"reason": reason, "path": path, "messages": count} for reason, path, count in found]

    @property
    def parts(self) -> tuple[tuple[list[Message], int], ...]:
        """The messages to be sent, over and over, and how many of them."""
        good = [_message(number, number % 2) for number in range(_MADE)]
        lost = [_message(number, 2) for number in range(_MADE)]
        cut = [(version, payload[:-1]) for version, payload in good]
        before = (self.messages - self.bad) // 2
        return (good, before), (lost, self.lost), (cut, self.cut), (good, self.messages - self.bad - before)


def whole(messages: int) -> tuple[list[Message], int]:
    """So many that all can read who know the states."""
    return [_message(number, number % 3) for number in range(_MADE)], messages


def _message(number: int, status: int) -> Message:
    return 0, _text(f"order-{number}") + bytes([2 * status]) + _text("to be left with the neighbours")


def _text(text: str) -> bytes:
    return bytes([2 * len(text)]) + text.encode()
