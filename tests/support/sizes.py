"""Sizes of a test run: a fixed sample in `make test`, everything in `make test-all`.

TOPICSCHEMA_TEST_SIZE=full selects everything. TOPICSCHEMA_SEED repeats a full run; a sample's seed never changes.
"""

import os
import secrets
from typing import Final

IS_FULL: Final = os.environ.get("TOPICSCHEMA_TEST_SIZE") == "full"
SEED: Final = os.environ.get("TOPICSCHEMA_SEED") or (secrets.token_hex(4) if IS_FULL else "topicschema")


def sized(sample: int, full: int) -> int:
    """Return the count for this run's size."""
    return full if IS_FULL else sample
