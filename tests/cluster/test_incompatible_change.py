"""The steps of docs/incompatible-change.md: the same topic, all clients at once, and the edits after the break.

Its set-up starts a controller.
"""

import pytest

from support.kubernetes.watched_namespace import WatchedShop, says, text

pytestmark = pytest.mark.timeout(180)

BEFORE, BROKEN, NEXT = text("id", "total"), text("number"), text("number", "note?")


async def test_a_topic_breaks_with_its_past_under_an_override_that_is_then_removed(shop: WatchedShop) -> None:
    shop.govern(schemaCompatibilityStrategy="BACKWARD")
    shop.put(BEFORE)
    await shop.ready("Registered")
    shop.put(BROKEN)
    await shop.ready("Incompatible")
    shop.put(BROKEN, schemaCompatibilityStrategy="ALWAYS_COMPATIBLE")
    status = await shop.ready("Registered")
    assert (status["schemaVersion"], status["effectiveStrategy"]["source"]) == (1, "Topic")
    shop.put(BROKEN, schemaCompatibilityStrategy="UNDEFINED")
    status = await shop.ready("Registered")
    assert (says(status)["Ready"], status["effectiveStrategy"]["source"]) == ("True", "Namespace")
    shop.put(NEXT)
    assert (await shop.ready("Registered"))["schemaVersion"] == 2
