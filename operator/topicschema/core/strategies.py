"""Schema compatibility strategies, by Pulsar's names, as two axes: which directions, and how much of history.

Source of the meanings: Pulsar's SchemaCompatibilityStrategy and SchemaRegistryServiceImpl (line 4.0).
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class Direction(StrEnum):
    """Who reads whose messages.

    BACKWARD: a reader with the candidate reads messages that were written with an earlier version.
    FORWARD: a reader with an earlier version reads messages that are written with the candidate.
    """

    BACKWARD = "BACKWARD"
    FORWARD = "FORWARD"


class UpgradeFirst(StrEnum):
    """Which clients go to the new version first, so that nobody meets a message it cannot read."""

    CONSUMERS = "Consumers"
    PRODUCERS = "Producers"
    ANY = "Any"
    NONE = "None"


class Strategy(StrEnum):
    """Pulsar's nine names."""

    UNDEFINED = "UNDEFINED"
    ALWAYS_INCOMPATIBLE = "ALWAYS_INCOMPATIBLE"
    ALWAYS_COMPATIBLE = "ALWAYS_COMPATIBLE"
    BACKWARD = "BACKWARD"
    FORWARD = "FORWARD"
    FULL = "FULL"
    BACKWARD_TRANSITIVE = "BACKWARD_TRANSITIVE"
    FORWARD_TRANSITIVE = "FORWARD_TRANSITIVE"
    FULL_TRANSITIVE = "FULL_TRANSITIVE"

    @property
    def is_transitive(self) -> bool:
        """Whether the candidate is checked against every version since the last deletion, not only the latest."""
        return self.value.endswith("_TRANSITIVE")

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The directions that are checked, in the broker's order (FULL asks the candidate as writer first)."""
        return _DIRECTIONS.get(self.value.removesuffix("_TRANSITIVE"), ())

    @property
    def upgrade_first(self) -> UpgradeFirst:
        """Which clients upgrade first under this strategy, as Pulsar's documentation tells."""
        if self is Strategy.ALWAYS_COMPATIBLE:
            return UpgradeFirst.ANY
        return _UPGRADE_FIRST.get(self.directions, UpgradeFirst.NONE)


BY_AUTO_UPDATE_NAME: Mapping[str, Strategy] = MappingProxyType(
    {
        "AutoUpdateDisabled": Strategy.ALWAYS_INCOMPATIBLE,
        "AlwaysCompatible": Strategy.ALWAYS_COMPATIBLE,
        "Backward": Strategy.BACKWARD,
        "Forward": Strategy.FORWARD,
        "Full": Strategy.FULL,
        "BackwardTransitive": Strategy.BACKWARD_TRANSITIVE,
        "ForwardTransitive": Strategy.FORWARD_TRANSITIVE,
        "FullTransitive": Strategy.FULL_TRANSITIVE,
    }
)
"""What a namespace's schemaAutoUpdateCompatibilityStrategy, which Pulsar deprecated, stands for where no strategy is
set (SchemaCompatibilityStrategy.fromAutoUpdatePolicy)."""

_DIRECTIONS = {
    "BACKWARD": (Direction.BACKWARD,),
    "FORWARD": (Direction.FORWARD,),
    "FULL": (Direction.FORWARD, Direction.BACKWARD),
}
_UPGRADE_FIRST = {
    (Direction.BACKWARD,): UpgradeFirst.CONSUMERS,
    (Direction.FORWARD,): UpgradeFirst.PRODUCERS,
    (Direction.FORWARD, Direction.BACKWARD): UpgradeFirst.ANY,
}
