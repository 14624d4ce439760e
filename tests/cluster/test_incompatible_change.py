"""The steps of docs/incompatible-change.md: the same topic, all clients at once, and the edits after the break.

Its set-up starts a controller.
"""

import pytest

from support.kubernetes.watched_namespace import WatchedShop, statuses, text

pytestmark = pytest.mark.timeout(180)

BEFORE, BROKEN, NEXT = text("id", "total"), text("number"), text("number", "note?")


async def test_a_topic_breaks_with_its_past_under_an_exception_of_the_policy(shop: WatchedShop) -> None:
    exception = {
        "topic": "created",
        "allowedStrategies": ["ALWAYS_COMPATIBLE"],
        "until": "2999-12-31",
        "reason": "the clients of version 0 are gone",
    }
    shop.govern(schemaCompatibilityStrategy="BACKWARD", constraints={"exceptions": [exception]})
    shop.put(BEFORE)
    await shop.ready("Registered")
    shop.put(BROKEN)
    await shop.ready("Incompatible")
    shop.put(BROKEN, schemaCompatibilityStrategy="ALWAYS_COMPATIBLE")
    status = await shop.ready("Registered")
    assert (status["schemaVersion"], status["effectiveStrategy"]["source"]) == (1, "Topic")
    shop.put(BROKEN)
    status = await shop.ready("Registered")
    assert (statuses(status)["Ready"], status["effectiveStrategy"]["source"]) == ("True", "Namespace")
    shop.put(NEXT)
    assert (await shop.ready("Registered"))["schemaVersion"] == 2
