"""The state that runs leave at the broker, checked after all other tests: the longer afterwards, the more would show.

No event shows that a topic is not created again: it is checked three minutes after the run at the earliest, and the
tests between take most of that time.
"""

import time
from datetime import UTC, datetime

import pytest

from support.validation.node_namespace import RetainedShop, conditions
from support.validation.topic_orders import WRITTEN

pytestmark = [pytest.mark.full, pytest.mark.timeout(900)]

_LATER = 180.0


def test_a_missing_topic_is_still_missing_after_its_run_and_its_schema_stays(missing: RetainedShop) -> None:
    missing.govern("Gate")  # as it was governed and proposed before, unless this file is run by itself
    missing.propose(WRITTEN)
    since = conditions(missing.ready("Registered"))["Validated"]["lastTransitionTime"]
    passed = (datetime.now(UTC) - datetime.fromisoformat(since)).total_seconds()
    time.sleep(max(_LATER - passed, 0.0))

    assert missing.names_at_the_broker == []
    assert missing.rest.versions() == [0]
