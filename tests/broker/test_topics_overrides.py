"""A topic's own settings at a real broker: before the schema, restored when no field names them, waiting for a topic.

Tests that wait for a topic take ten seconds: the operator looks again in pauses that grow.
"""

from urllib.parse import quote

import pytest

from support.kubernetes.watched_namespace import conditions, says, until
from support.pulsar.brokered_namespace import BrokeredShop
from support.pulsar.brokered_topic import CLASHING, ONE, TWO, BrokeredTopic
from testbed import broker_faults
from topicschema.core.remote import TopicSettings
from topicschema.core.strategies import Strategy

pytestmark = [pytest.mark.timeout(180), pytest.mark.broker]


@pytest.fixture
def topic(shop: BrokeredShop) -> BrokeredTopic:
    """A topic that exists, without a schema."""
    topic = BrokeredTopic(shop)
    topic.make()
    return topic


def own(topic: BrokeredTopic, setting: str = "schemaCompatibilityStrategy") -> object:
    """The topic's own setting, None where it has none."""
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


@pytest.mark.parametrize("there", [(), (ONE,)], ids=["no schema", "one"])
async def test_a_topic_is_judged_by_the_strategy_that_others_gave_it_before(
    topic: BrokeredTopic, there: tuple[str, ...]
) -> None:
    for schema in there:
        topic.rest.uploaded(schema)
    topic.shop.pulsar.tell("PUT", f"{topic.rest.itself}/schemaCompatibilityStrategy", "ALWAYS_COMPATIBLE")

    async def is_there() -> bool:
        return own(topic) == "ALWAYS_COMPATIBLE"  # the controller asks for it once in five minutes

    await until(is_there, bool)
    await topic.governed(schemaCompatibilityStrategy="FULL")
    topic.put(ONE)
    status = await topic.ready()
    assert "keeps a strategy of its own at the broker, ALWAYS_COMPATIBLE" in conditions(status)["Ready"]["message"]
    topic.put(CLASHING)
    status = await topic.ready()
    assert status["effectiveStrategy"] == {"value": "ALWAYS_COMPATIBLE", "source": "Topic"}
    assert (await topic.agree(), own(topic)) == ([0, 1], "ALWAYS_COMPATIBLE")
    assert not any(call.endswith("schemaCompatibilityStrategy") for call in topic.written)
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


async def test_what_another_client_set_since_stays_when_the_field_is_removed_and_undefined_removes_it(
    topic: BrokeredTopic,
) -> None:
    await topic.governed(schemaCompatibilityStrategy="FULL")
    topic.put(ONE, schemaCompatibilityStrategy="BACKWARD")
    await topic.ready()
    topic.put(ONE, schemaCompatibilityStrategy="BACKWARD", suspend=True)
    await topic.ready("Suspended")  # else a reconcile may write BACKWARD again
    topic.shop.pulsar.tell("PUT", f"{topic.rest.itself}/schemaCompatibilityStrategy", "FORWARD")

    async def is_there() -> bool:
        return own(topic) == "FORWARD"

    await until(is_there, bool)
    topic.put(ONE)
    status = await topic.ready()
    assert "keeps a strategy of its own at the broker, FORWARD" in conditions(status)["Ready"]["message"]
    assert status["effectiveStrategy"] == {"value": "FORWARD", "source": "Topic"}
    assert (own(topic), await topic.looked_again()) == ("FORWARD", [])
    topic.put(ONE, schemaCompatibilityStrategy="UNDEFINED")
    await topic.ready()
    assert own(topic) is None
    topic.put(ONE)
    status = await topic.ready()
    assert "strategy of its own" in conditions(status)["Ready"]["message"]
    assert (own(topic), await topic.looked_again()) == ("FORWARD", [])


async def test_an_override_is_what_the_spec_says_also_while_the_broker_refuses_the_schema(
    topic: BrokeredTopic,
) -> None:
    topic.rest.uploaded(ONE)
    await topic.governed(schemaCompatibilityStrategy="FULL")
    topic.shop.proxy.fault = broker_faults.when(
        lambda call: call.method == "POST" and call.path.endswith("/schema"), broker_faults.status(409)
    )
    topic.put(TWO, schemaCompatibilityStrategy="BACKWARD")
    status = await topic.ready("RefusedByBroker")
    assert says(status)["Stalled"] == "True"
    assert own(topic) == "BACKWARD"
    assert (topic.shop.there()["schemaCompatibilityStrategy"], topic.namespace_written) == ("FULL", [])
    topic.put(ONE)
    await topic.ready()
    assert own(topic) is None
    topic.shop.proxy.fault = broker_faults.untouched
    topic.put(TWO, schemaCompatibilityStrategy="FORWARD")
    await topic.ready()
    assert (own(topic), await topic.agree()) == ("FORWARD", [0, 1])
    assert await topic.looked_again() == []


async def test_settings_wait_for_their_topic_which_nobody_here_makes(shop: BrokeredShop) -> None:
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


async def test_a_name_that_needs_escapes_has_schemas_and_settings_of_its_own(topic: BrokeredTopic) -> None:
    name = "créé+%x"
    odd = BrokeredTopic(topic.shop, "odd", name)
    odd.make()
    await odd.governed(schemaCompatibilityStrategy="FULL")
    odd.put(ONE, topic=f"persistent://{topic.shop.pulsar_namespace}/{name}", schemaCompatibilityStrategy="BACKWARD")
    await odd.ready()
    assert (own(odd), odd.rest.versions()) == ("BACKWARD", [0])
    assert quote(name) not in str(own(topic))


async def test_what_others_set_later_is_named_when_the_broker_refuses_by_it(topic: BrokeredTopic) -> None:
    await topic.governed(schemaCompatibilityStrategy="ALWAYS_COMPATIBLE")
    topic.put(TWO)
    await topic.ready()
    topic.shop.pulsar.tell("PUT", f"{topic.rest.itself}/schemaCompatibilityStrategy", "FULL")

    async def is_in_force() -> bool:
        return topic.rest.compatibility(CLASHING).status == 500  # so it says no where an upload gets 409

    await until(is_in_force, bool)
    topic.put(CLASHING)
    status = await topic.ready("RefusedByBroker")
    assert "FULL, which was set there" in conditions(status)["Ready"]["message"]
    assert await topic.agree() == [0]
