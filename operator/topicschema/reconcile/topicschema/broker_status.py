"""What a TopicSchema's status says of its broker: what stays that no field asks for, what is hidden, who is checked.

The rest of the status is `report`'s matter.
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
"""How consumers fare whom the latest version alone does not decide about."""


def broker_notes(history: History, state: BrokerState | None) -> Iterator[str]:
    """What else is to be said of the broker, or, where `state` is None, of its being gone."""
    if state is None:
        if history.counted:
            number = history.counted[-1].schema_version
            yield f"a broker counted up to version {number}; the policy names none any more, and nothing is compared"
        return
    if state.unmanaged_strategy is not None:
        yield f"the topic keeps a strategy of its own at the broker, {state.unmanaged_strategy}, which no field manages"
    deleted = max((each.schema_version for each in history.entries if each.is_tombstone), default=0)
    if deleted:
        yield f"versions before {deleted} were deleted at the broker, which serves them to nobody any more"


def rolled_back(number: int | None, latest: int, strategy: Strategy) -> str:
    """What it means for clients that the schema is an older version again, under that strategy (docs/clients.md)."""
    return (
        f"the schema is version {number} again; the latest stays version {latest}, as Pulsar keeps the number of an "
        f"equal schema and does not move its latest: producers with this schema write as version {number}, while new "
        f"consumers are {_CONSUMERS.get(strategy, f'still checked against version {latest}')}"
    )
