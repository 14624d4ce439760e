"""The status texts about the broker: unmanaged settings, hidden versions, and the checks of clients.

`status` has the rest of a TopicSchema's status.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from topicschema.core.broker_state import BrokerState
from topicschema.core.history import History
from topicschema.core.strategies import Strategy

_CONSUMERS: Final[Mapping[Strategy, str]] = MappingProxyType(
    {
        Strategy.ALWAYS_COMPATIBLE: "not checked at all",
        Strategy.ALWAYS_INCOMPATIBLE: "refused, whatever their schema",
        Strategy.BACKWARD_TRANSITIVE: "checked against every version",
        Strategy.FULL_TRANSITIVE: "checked against every version",
    }
)
"""The checks of consumers by strategy, if they are not against the latest version alone."""


def broker_notes(history: History, state: BrokerState | None) -> Iterator[str]:
    """Yield notes about the broker. If `state` is None, the policy names no broker any more."""
    if state is None:
        if history.counted:
            number = history.counted[-1].schema_version
            yield f"a broker had the versions up to {number}; the policy names no broker now, so nothing is compared"
        return
    if state.unmanaged_strategy is not None:
        yield f"the topic has its own strategy at the broker, {state.unmanaged_strategy}, which no field manages"
    deleted = max((each.schema_version for each in history.entries if each.is_tombstone), default=0)
    if deleted:
        yield f"versions before {deleted} were deleted at the broker, which serves them to no client"


def rolled_back(number: int | None, latest: int, strategy: Strategy) -> str:
    """Return the effect on clients if the schema is an older version again, by strategy (docs/clients.md)."""
    consumers = _CONSUMERS.get(strategy, f"still checked against version {latest}")
    return (
        f"the schema equals version {number}, and Pulsar's latest stays version {latest}: producers with this schema "
        f"write as version {number}, while new consumers are {consumers}"
    )
