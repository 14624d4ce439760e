"""Conditions as every kind reports them: Ready, Reconciling and Stalled as kstatus means them, and their times.

Which situation means which condition is the matter of each kind's own report.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from topicschema.api.metadata import Condition, ConditionStatus, ConditionType
from topicschema.core.errors import InvalidSchemaError, StalledError, TopicSchemaError

MESSAGE_BYTES = 1024
FINDING_BYTES = 512
"""Of the path and the message of one finding."""
# As Go writes JSON; what it writes as \uXXXX takes most.
_ESCAPED = "<>&"
_MOST_BYTES = 6
BUG_REASON = "InternalError"
CONSUMER_RISK = "ConsumerRisk"
"""The reason of Compatible if the broker accepts a schema that consumers may not be able to read."""


@dataclass(frozen=True, slots=True)
class ConditionInput:
    """One condition of a report: all but its times and its generation."""

    type: ConditionType
    status: ConditionStatus
    reason: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class ObservedAt:
    """The part that all conditions of a report share: those of the last one, the generation, the time (RFC 3339)."""

    before: tuple[Condition, ...]
    generation: int
    now: str

    def conditions(self, said: Iterable[ConditionInput]) -> tuple[Condition, ...]:
        """The conditions in that order; what is not said is absent."""
        before = {condition.type: condition for condition in self.before}
        return tuple(self._condition(one, before.get(one.type)) for one in said)

    def _condition(self, said: ConditionInput, before: Condition | None) -> Condition:
        has_moved = before is None or before.status is not said.status or not before.last_transition_time
        return Condition(
            type=said.type,
            status=said.status,
            reason=said.reason,
            message=truncate(said.message, MESSAGE_BYTES),
            observed_generation=self.generation,
            last_transition_time=self.now if before is None or has_moved else before.last_transition_time,
        )


def ready(reason: str, message: str) -> tuple[ConditionInput, ...]:
    """All is as it should be."""
    return (ConditionInput(ConditionType.READY, ConditionStatus.TRUE, reason, message),)


def stalled(reason: str, message: str) -> tuple[ConditionInput, ...]:
    """A person must change something."""
    return (
        ConditionInput(ConditionType.READY, ConditionStatus.FALSE, reason, message),
        ConditionInput(ConditionType.STALLED, ConditionStatus.TRUE, reason, message),
    )


def not_ready(error: Exception) -> tuple[ConditionInput, ...]:
    """Ready, and Reconciling or Stalled, as the kind of error has it."""
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


def describe_error(error: Exception) -> tuple[str, str]:
    """Reason and message of an error; of a bug only its type, for its text may quote anything."""
    if isinstance(error, InvalidSchemaError):
        return error.reason, error.sentence
    if isinstance(error, TopicSchemaError):
        return error.reason, error.message
    return BUG_REASON, f"an unexpected error ({type(error).__name__}); it is tried again, and the log has the place"


def truncate(text: str, limit: int) -> str:
    """`text` in at most `limit` bytes as an API server stores it, cut between characters, with three dots for the rest.

    Half of a surrogate pair, which a text in JSON can hold and an API server replaces, becomes a question mark.
    """
    clean = text.encode(errors="replace").decode()
    if len(clean) * _MOST_BYTES <= limit or sum(map(_stored_bytes, clean)) <= limit:
        return clean
    room = limit - len("...")
    for end, char in enumerate(clean):
        room -= _stored_bytes(char)
        if room < 0:
            return clean[:end] + "..."
    return clean


def _stored_bytes(char: str) -> int:
    if char in _ESCAPED or not char.isprintable():
        return _MOST_BYTES
    return 2 if char in '"\\' else len(char.encode())
