"""Conditions of all kinds: Ready, Reconciling and Stalled by the rules of kstatus, with their transition times.

The `status` module of each kind selects the conditions.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from topicschema.api.metadata import Condition, ConditionStatus, ConditionType
from topicschema.core.errors import InvalidSchemaError, StalledError, TopicSchemaError
from topicschema.core.reasons import Reason

MESSAGE_BYTES = 1024
FINDING_BYTES = 512
"""The limits in bytes of the path and of the message of one finding."""
# Go's JSON encoding writes these as \uXXXX, which is its longest form.
_ESCAPED = "<>&"
_MOST_BYTES = 6


@dataclass(frozen=True, slots=True)
class ConditionInput:
    """One condition of a report, without time and generation."""

    type: ConditionType
    status: ConditionStatus
    reason: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class ObservedAt:
    """The common inputs of a report: the previous conditions, the generation, and the time (RFC 3339)."""

    before: tuple[Condition, ...]
    generation: int
    now: str

    def conditions(self, inputs: Iterable[ConditionInput]) -> tuple[Condition, ...]:
        """Return the conditions of the report in its order. Previous conditions that are not in it are dropped."""
        before = {condition.type: condition for condition in self.before}
        return tuple(self._condition(each, before.get(each.type)) for each in inputs)

    def _condition(self, current: ConditionInput, before: Condition | None) -> Condition:
        has_moved = before is None or before.status is not current.status or not before.last_transition_time
        return Condition(
            type=current.type,
            status=current.status,
            reason=current.reason,
            message=truncate(current.message, MESSAGE_BYTES),
            observed_generation=self.generation,
            last_transition_time=self.now if before is None or has_moved else before.last_transition_time,
        )


def ready(reason: str, message: str) -> tuple[ConditionInput, ...]:
    """Return Ready=True."""
    return (ConditionInput(ConditionType.READY, ConditionStatus.TRUE, reason, message),)


def stalled(reason: str, message: str) -> tuple[ConditionInput, ...]:
    """Return Ready=False and Stalled=True: a user must change something."""
    return (
        ConditionInput(ConditionType.READY, ConditionStatus.FALSE, reason, message),
        ConditionInput(ConditionType.STALLED, ConditionStatus.TRUE, reason, message),
    )


def not_ready(error: Exception) -> tuple[ConditionInput, ...]:
    """Return Ready, and Reconciling or Stalled, by the type of the error."""
    reason, message = describe_error(error)
    if isinstance(error, StalledError):
        return stalled(reason, message)
    is_ours = isinstance(error, TopicSchemaError)
    return (
        ConditionInput(
            ConditionType.READY, ConditionStatus.FALSE if is_ours else ConditionStatus.UNKNOWN, reason, message
        ),
        ConditionInput(ConditionType.RECONCILING, ConditionStatus.TRUE, reason, message),
    )


def describe_error(error: Exception) -> tuple[Reason, str]:
    """Return reason and message of an error. For a bug, return only its type, because its text may have secrets."""
    if isinstance(error, InvalidSchemaError):
        return error.reason, error.sentence
    if isinstance(error, TopicSchemaError):
        return error.reason, error.message
    return (
        Reason.INTERNAL_ERROR,
        f"unexpected error ({type(error).__name__}): the operator tries again, and its log has the traceback",
    )


def truncate(text: str, limit: int) -> str:
    """Return `text` in at most `limit` bytes as an API server stores it. Replace the excess by three dots.

    A lone surrogate, which JSON allows and an API server replaces, becomes a question mark.
    """
    clean = text.encode(errors="replace").decode()
    if len(clean) * _MOST_BYTES <= limit or sum(map(_stored_bytes, clean)) <= limit:
        return clean
    available = limit - len("...")
    for end, char in enumerate(clean):
        available -= _stored_bytes(char)
        if available < 0:
            return clean[:end] + "..."
    return clean


def _stored_bytes(char: str) -> int:
    if char in _ESCAPED or not char.isprintable():
        return _MOST_BYTES
    return 2 if char in '"\\' else len(char.encode())
