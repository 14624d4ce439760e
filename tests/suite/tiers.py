"""The tiers, and which of them run side by side."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Tier:
    """A name, pytest's marker expression, and pytest's other options."""

    name: str
    markers: str
    options: tuple[str, ...] = ()


UNIT: Final = Tier(
    "unit",
    "not cluster and not broker and not faults and not differential and not spark and not e2e",
    ("-n", "auto", "--maxprocesses=8"),
)
DIFFERENTIAL: Final = Tier("differential", "differential and not broker and not e2e")
SPARK: Final = Tier("spark", "spark and not broker and not e2e")
CLUSTER: Final = Tier("cluster", "cluster and not broker and not faults and not e2e")
FAULTS: Final = Tier("faults", "faults and not broker and not e2e")
BROKER: Final = Tier("broker", "broker and not e2e")
E2E: Final = Tier("e2e", "e2e")

Stage = tuple[tuple[Tier, ...], ...]
"""Sequences of tiers that run side by side."""

# The unit tier keeps every core busy; the others mostly wait, so that two of them share two cores.
SAMPLE: Final[tuple[Stage, ...]] = (((UNIT,),), ((BROKER,), (CLUSTER, FAULTS, DIFFERENTIAL, SPARK)))
FULL: Final[tuple[Stage, ...]] = (*SAMPLE, ((E2E,),))
