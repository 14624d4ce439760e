"""How many histories are played: some in `make test`, as many as are asked for in `make histories`.

TOPICSCHEMA_SEED repeats a run, TOPICSCHEMA_TEST_FIRST goes on with one that was interrupted.
"""

import os
from typing import Final

USUAL: Final = 100
COUNT: Final = int(os.environ.get("TOPICSCHEMA_TEST_BROKER_HISTORIES") or USUAL)
FIRST: Final = int(os.environ.get("TOPICSCHEMA_TEST_FIRST") or 0)
IS_LONG: Final = COUNT > USUAL
