"""Check of required fields at the end of a message, because its parts may come in any number of pieces.

Source: DynamicMessage.isInitialized of protobuf's Java library (3.25). Parts that a rival of their oneof replaced do
not count. Entries of a map that a later one replaced do. An entry without a value is complete for it. The classes that
protoc makes put a default there, and then lack its required fields (MapEntryLite.parseEntry).
"""

from collections.abc import Iterator
from typing import Any

from topicschema.payload.finding import MAX_FINDINGS, PayloadFinding
from topicschema.payload.path import Path, shown
from topicschema.payload.protobuf_native.descriptors import MessagePlan


class Completeness:
    """The messages so far that have required fields."""

    __slots__ = ("_absent", "_met", "_replaced")

    def __init__(self) -> None:
        self._met: dict[int, tuple[dict[str, Any], MessagePlan, Path | None, int]] = {}
        self._absent: set[int] = set()
        self._replaced: list[Any] = []

    def begun(self, value: dict[str, Any], plan: MessagePlan, path: Path | None, start: int) -> None:
        """Record that a message begins, or continues."""
        if plan.required:
            self._met.setdefault(id(value), (value, plan, path, start))

    def absent(self, value: dict[str, Any], plan: MessagePlan, path: Path | None, start: int) -> None:
        """Record that an entry has no value and gets this one."""
        self.begun(value, plan, path, start)
        if plan.required:  # then it stays referenced, and its id is unique
            self._absent.add(id(value))

    def replaced(self, value: Any) -> None:
        """Record that an entry's value is no longer in its map."""
        if id(value) not in self._absent:
            self._replaced.append(value)

    def missing(self, root: dict[str, Any]) -> list[PayloadFinding]:
        """Return the missing required fields, in the order of the bytes. The offset is the start of the message."""
        lacking = [each for each in self._met.values() if any(name not in each[0] for name in each[1].required)]
        if not lacking:
            return []
        held = {id(each) for each in _holders([root, *self._replaced])}
        return [
            PayloadFinding(
                "MISSING_FIELD", "the field is required", shown((path, name)), start, id(value) in self._absent
            )
            for value, plan, path, start in lacking
            if id(value) in held
            for name in plan.required
            if name not in value
        ][:MAX_FINDINGS]


def _holders(waiting: list[Any]) -> Iterator[dict[str, Any]]:
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            yield each
            waiting.extend(each.values())
        elif isinstance(each, list):
            waiting.extend(each)
