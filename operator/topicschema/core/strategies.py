"""Schema compatibility strategies, by Pulsar's names, on two axes: directions and range of the history.

Source of the meanings: Pulsar's SchemaCompatibilityStrategy and SchemaRegistryServiceImpl (Pulsar 4.0).
"""

from collections.abc import Mapping
from enum import Enum, StrEnum, auto
from types import MappingProxyType


class Direction(StrEnum):
    """The side that reads the other's messages.

    BACKWARD: a reader with the candidate reads messages that were written with an earlier version.
    FORWARD: a reader with an earlier version reads messages that are written with the candidate.
    """

    BACKWARD = "BACKWARD"
    FORWARD = "FORWARD"


class Check(Enum):
    """A check of a strategy: one direction, against the latest version or against all, or the refusal of any edit."""

    BACKWARD = auto()
    FORWARD = auto()
    BACKWARD_TRANSITIVE = auto()
    FORWARD_TRANSITIVE = auto()
    REFUSAL = auto()


class UpgradeFirst(StrEnum):
    """The clients to upgrade first, so that no client gets a message that it cannot read."""

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
        """True if the candidate is checked against every version since the last deletion, not only the latest."""
        return self.endswith("_TRANSITIVE")

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The checked directions in the broker's order (with FULL, the candidate is the writer first)."""
        return _DIRECTIONS.get(self.value.removesuffix("_TRANSITIVE"), ())

    @property
    def checks(self) -> frozenset["Check"]:
        """The checks that an edit must pass, if it is no version yet. That of all versions covers the latest one."""
        if self is Strategy.ALWAYS_INCOMPATIBLE:
            return frozenset(Check)
        latest = frozenset(Check[each] for each in self.directions)
        return latest | {Check[f"{each}_TRANSITIVE"] for each in self.directions} if self.is_transitive else latest

    def is_weaker_than(self, other: "Strategy") -> bool:
        """Return True if this strategy allows an edit that `other` refuses. Neither is UNDEFINED.

        Two strategies can each be weaker than the other: BACKWARD and FORWARD refuse different edits.
        """
        return not other.checks <= self.checks

    @property
    def upgrade_first(self) -> UpgradeFirst:
        """The clients to upgrade first under this strategy, by Pulsar's documentation."""
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
"""The strategy of each value of a namespace's schemaAutoUpdateCompatibilityStrategy, which Pulsar deprecated.

It applies if no strategy is set (SchemaCompatibilityStrategy.fromAutoUpdatePolicy).
"""

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
