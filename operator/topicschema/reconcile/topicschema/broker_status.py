"""What a TopicSchema's status says of its broker: what stays that no field asks for, what is hidden, who is checked.

The rest of the status is `report`'s matter.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

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


@dataclass(frozen=True, slots=True)
class AtBroker:
    """What a pass saw at the broker: whether it may write there, and which settings of the topic are left as they are.

    `lacks` is the first version on record that the broker has not got, and does not get where it is only observed.
    """

    may_write: bool = True
    left_behind: Strategy | None = None
    left_enforced: bool = False
    lacks: int | None = None


def broker_notes(history: History, at: AtBroker | None) -> Iterator[str]:
    """What else is to be said of the broker, or, where `at` is None, of its being gone."""
    if at is None:
        if history.counted:
            number = history.counted[-1].schema_version
            yield f"a broker counted up to version {number}; the policy names none any more, and nothing is compared"
        return
    if at.left_behind is not None:
        yield f"the topic keeps a strategy of its own at the broker, {at.left_behind}, which no field manages"
    if at.left_enforced:
        yield "the topic keeps schemaValidationEnforced: true at the broker, which no field manages"
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
