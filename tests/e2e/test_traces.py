"""What runs leave at the broker, looked at when all others are through: the longer afterwards, the more would show.

That a topic is not made again is no event that could be waited for: it is looked at three minutes after the run at the
earliest, which the tests between take most of.
"""

import time
from datetime import UTC, datetime

import pytest

from support.validation.node_namespace import RetainedShop, conditions
from support.validation.topic_orders import WRITTEN

pytestmark = [pytest.mark.full, pytest.mark.timeout(900)]

_LATER = 180.0


def test_a_topic_that_no_run_found_is_still_not_there_and_its_schema_is(missing: RetainedShop) -> None:
    missing.govern("Gate")  # as it was governed and proposed before, unless this file is run by itself
    missing.propose(WRITTEN)
    told = conditions(missing.ready("Registered"))["Validated"]["lastTransitionTime"]
    passed = (datetime.now(UTC) - datetime.fromisoformat(told)).total_seconds()
    time.sleep(max(_LATER - passed, 0.0))

    assert missing.broker_topics == []
    assert missing.rest.versions() == [0]
