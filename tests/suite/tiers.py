"""The tiers, and which of them run side by side."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Tier:
    """A name, pytest's marker expression, the folder of its tests, and pytest's other options."""

    name: str
    markers: str
    folder: str
    options: tuple[str, ...] = ()


# Who needs neither a cluster nor a JVM belongs to the unit tier, in whichever folder it is.
UNIT: Final = Tier(
    "unit",
    "not cluster and not broker and not faults and not differential and not postgresql and not spark and not e2e",
    "tests",
    ("-n", "auto", "--maxprocesses=8"),
)
DIFFERENTIAL: Final = Tier("differential", "differential", "tests/differential")
POSTGRESQL: Final = Tier("postgresql", "postgresql", "tests/postgresql")
SPARK: Final = Tier("spark", "spark", "tests/spark")
CLUSTER: Final = Tier("cluster", "cluster", "tests/cluster")
FAULTS: Final = Tier("faults", "faults", "tests/faults")
BROKER: Final = Tier("broker", "broker", "tests/broker")
E2E: Final = Tier("e2e", "e2e", "tests/e2e")

Stage = tuple[tuple[Tier, ...], ...]
"""Sequences of tiers that run side by side."""

# The unit tier keeps every core busy; the others mostly wait, so that two of them share two cores.
SAMPLE: Final[tuple[Stage, ...]] = (((UNIT,),), ((BROKER, POSTGRESQL, SPARK), (CLUSTER, FAULTS, DIFFERENTIAL)))
FULL: Final[tuple[Stage, ...]] = (*SAMPLE, ((E2E,),))
