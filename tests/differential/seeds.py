"""How many pairs the differential tier makes, and of which seeds: one that stays, and in a full run a new one."""

from typing import Final

from support import sizes

FIXED: Final = "topicschema"
SEEDS: Final = {"the fixed seed": FIXED, **({"a new seed": sizes.SEED} if sizes.IS_FULL else {})}
"""By what they are called: a test's name does not change with its seed."""
PAIRS: Final = sizes.sized(1_000, 20_000)
"""Of each seed."""
