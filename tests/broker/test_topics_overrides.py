"""A topic's own settings at a real broker: before the schema, restored when no field names them, waiting for a topic.

Tests that wait for a topic take ten seconds: the operator reconciles it in pauses that grow.
"""

import pytest

from support.kubernetes.watched_namespace import conditions, says
from support.pulsar.brokered_namespace import BrokeredShop
from support.pulsar.brokered_topic import CLASHING, ONE, TWO, BrokeredTopic
from topicschema.core.remote import TopicSettings
from topicschema.core.strategies import Strategy

pytestmark = [pytest.mark.timeout(180), pytest.mark.broker]


@pytest.fixture
def topic(shop: BrokeredShop) -> BrokeredTopic:
    """Return a topic that exists, without a schema."""
    topic = BrokeredTopic(shop)
    topic.make()
    return topic


def own(topic: BrokeredTopic, setting: str = "schemaCompatibilityStrategy") -> object:
    """Return the topic's own setting, None if it has none."""
    return topic.shop.pulsar.tell("GET", f"{topic.rest.itself}/{setting}")


async def test_an_override_stands_at_the_broker_before_the_schema_that_needs_it(topic: BrokeredTopic) -> None:
    topic.rest.uploaded(ONE)
    await topic.governed(schemaCompatibilityStrategy="FULL")
    topic.put(CLASHING, schemaCompatibilityStrategy="ALWAYS_COMPATIBLE", schemaValidationEnforced=True)
    status = await topic.ready()
    assert status["effectiveStrategy"] == {"value": "ALWAYS_COMPATIBLE", "source": "Topic"}
    assert (own(topic), own(topic, "schemaValidationEnforced")) == ("ALWAYS_COMPATIBLE", True)
    assert (topic.shop.there()["schemaCompatibilityStrategy"], topic.namespace_written) == ("FULL", [])
    assert [call.rpartition("/")[2] for call in topic.written] == [
        "schemaCompatibilityStrategy",
        "schema",
        "schemaValidationEnforced",
    ]
    recorded = (await topic.history()).topic_settings
    assert recorded is not None
    assert recorded.original.strategy is None
    assert recorded.written == TopicSettings(Strategy.ALWAYS_COMPATIBLE, enforces_validation=True)
    assert await topic.looked_again() == []


async def test_a_field_that_is_removed_restores_what_the_topic_had(topic: BrokeredTopic) -> None:
    await topic.governed(schemaCompatibilityStrategy="FULL")
    topic.put(ONE, schemaCompatibilityStrategy="BACKWARD", schemaValidationEnforced=True)
    await topic.ready()
    assert (own(topic), own(topic, "schemaValidationEnforced")) == ("BACKWARD", True)
    topic.put(ONE)
    status = await topic.ready()
    assert status["effectiveStrategy"] == {"value": "FULL", "source": "Namespace"}
    assert "strategy of its own" not in conditions(status)["Ready"]["message"]
    assert (own(topic), own(topic, "schemaValidationEnforced")) == (None, False)
    assert await topic.looked_again() == []


async def test_settings_wait_for_their_topic_which_the_operator_does_not_create(shop: BrokeredShop) -> None:
    topic = BrokeredTopic(shop)
    await topic.governed(schemaCompatibilityStrategy="FULL")
    topic.put(ONE, schemaCompatibilityStrategy="BACKWARD")
    status = await topic.ready("TopicNotFound")
    assert says(status) == {
        "Ready": "False",
        "Reconciling": "True",
        "Compatible": "True",
        "Registered": "True",
        "InSync": "False",
    }
    assert topic.rest.versions() == [0]  # nothing is compared with a first version
    topic.put(TWO, schemaCompatibilityStrategy="BACKWARD")
    await topic.ready("TopicNotFound")
    assert topic.rest.versions() == [0]
    assert shop.pulsar.tell("GET", f"/persistent/{shop.pulsar_namespace}") == []
    topic.make()
    await topic.ready()
    assert (own(topic), await topic.agree()) == ("BACKWARD", [0, 1])
    assert await topic.looked_again() == []
