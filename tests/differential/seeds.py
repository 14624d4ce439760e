"""The number of pairs of the differential tier, and their seeds: a fixed one, and in a full run a new one."""

from typing import Final

from support import sizes

FIXED: Final = "topicschema"
SEEDS: Final = {"the fixed seed": FIXED, **({"a new seed": sizes.SEED} if sizes.IS_FULL else {})}
"""Seeds by name: a test's name does not change with its seed."""
PAIRS: Final = sizes.sized(1_000, 20_000)
"""The number for each seed."""
