"""The number of histories: a few that stay the same in `make test`, 2,000 in a full run.

`make histories` sets another number. TOPICSCHEMA_SEED repeats a full run, and TOPICSCHEMA_TEST_FIRST continues an
interrupted one.
"""

import os
from typing import Final

from support.sizes import IS_FULL, sized

_REQUESTED: Final = os.environ.get("TOPICSCHEMA_TEST_BROKER_HISTORIES")
COUNT: Final = int(_REQUESTED or sized(45, 2000))
AT_ONCE: Final = min(COUNT, 100)
FIRST: Final = int(os.environ.get("TOPICSCHEMA_TEST_FIRST") or 0)
IS_SAMPLE: Final = not (IS_FULL or _REQUESTED)
