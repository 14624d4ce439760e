"""A real broker's own settings with those of namespaces and topics, and what it shows of them."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from pulsar import Client, IncompatibleSchema
from pulsar.schema import StringSchema

from support.pulsar.rest_topic import RestTopic, optional, record
from testbed.pulsar import Pulsar

_FIRST = record(optional("a"))


@pytest.fixture
def strict_topic(strict_pulsar: Pulsar) -> RestTopic:
    """Return a topic of a broker whose own settings are the reverse of Pulsar's defaults."""
    return RestTopic(strict_pulsar, strict_pulsar.fresh_namespace())


@contextmanager
def _client(topic: RestTopic) -> Iterator[Client]:
    client = Client(topic.pulsar.service_url)
    try:
        yield client
    finally:
        client.close()


def test_a_namespace_shows_the_brokers_auto_update_where_nothing_was_set(strict_topic: RestTopic) -> None:
    """Check that set and unset values are the same, even in all of the namespace's policies."""
    namespace = f"/namespaces/{strict_topic.namespace}"

    assert strict_topic.pulsar.tell("GET", f"{namespace}/isAllowAutoUpdateSchema") is False
    assert strict_topic.pulsar.tell("GET", namespace)["is_allow_auto_update_schema"] is False


def test_a_namespace_shows_the_brokers_enforcement_only_if_the_applied_one_is_requested(
    strict_topic: RestTopic,
) -> None:
    path = f"/namespaces/{strict_topic.namespace}/schemaValidationEnforced"

    assert strict_topic.pulsar.tell("GET", path) is False
    assert strict_topic.pulsar.tell("GET", f"{path}?applied=true") is True


def test_the_brokers_enforcement_holds_though_a_topic_shows_that_none_is_applied(strict_topic: RestTopic) -> None:
    strict_topic.pulsar.tell("PUT", strict_topic.itself)
    strict_topic.uploaded("", "STRING")
    path = f"{strict_topic.itself}/schemaValidationEnforced"
    assert strict_topic.pulsar.tell("GET", f"{path}?applied=true") is True
    strict_topic.pulsar.tell("POST", path, body=False)

    assert strict_topic.pulsar.tell("GET", f"{path}?applied=true") is False

    with _client(strict_topic) as client, pytest.raises(IncompatibleSchema):
        client.create_producer(f"persistent://{strict_topic.namespace}/x")


def test_where_auto_update_is_not_allowed_a_producer_needs_its_very_schema(strict_topic: RestTopic) -> None:
    """Check that Python's STRING is the text `null`; Java's is empty, and another version."""
    name = f"persistent://{strict_topic.namespace}/x"
    strict_topic.uploaded("", "STRING")

    with _client(strict_topic) as client:
        with pytest.raises(IncompatibleSchema):
            client.create_producer(name, schema=StringSchema())
        assert strict_topic.uploaded("null", "STRING") == 1
        client.create_producer(name, schema=StringSchema()).send("a message")


def test_a_strategy_that_is_set_nowhere_is_the_brokers(strict_topic: RestTopic) -> None:
    assert strict_topic.compatibility(_FIRST).json["schemaCompatibilityStrategy"] == "BACKWARD"
    strict_topic.pulsar.tell("PUT", strict_topic.itself)

    path = f"{strict_topic.itself}/schemaCompatibilityStrategy"

    assert strict_topic.pulsar.tell("GET", path) is None
    assert strict_topic.pulsar.tell("GET", f"{path}?applied=true") == "BACKWARD"


def test_the_deprecated_strategy_stands_between_the_namespaces_and_the_brokers(strict_topic: RestTopic) -> None:
    path = f"/namespaces/{strict_topic.namespace}/schemaAutoUpdateCompatibilityStrategy"
    assert strict_topic.pulsar.ask("GET", path).status == 204

    strict_topic.pulsar.tell("PUT", path, "Forward")
    assert strict_topic.compatibility(_FIRST).json["schemaCompatibilityStrategy"] == "FORWARD"

    assert strict_topic.pulsar.ask("PUT", path, "FORWARD").status == 204  # unknown by that name: unset
    assert strict_topic.compatibility(_FIRST).json["schemaCompatibilityStrategy"] == "BACKWARD"


def test_a_setting_of_a_namespace_cannot_be_deleted(topic: RestTopic) -> None:
    for setting in ("schemaCompatibilityStrategy", "isAllowAutoUpdateSchema", "schemaValidationEnforced"):
        answer = topic.pulsar.ask("DELETE", f"/namespaces/{topic.namespace}/{setting}")

        assert (answer.status, answer.json) == (412, {"reason": f"Invalid bundle range: {setting}"})


def test_a_topics_own_strategy_can_be_deleted_and_its_enforcement_cannot(topic: RestTopic) -> None:
    topic.pulsar.tell("PUT", topic.itself)
    topic.pulsar.tell("PUT", f"{topic.itself}/schemaCompatibilityStrategy", "BACKWARD")

    topic.pulsar.tell("DELETE", f"{topic.itself}/schemaCompatibilityStrategy")

    assert topic.pulsar.tell("GET", f"{topic.itself}/schemaCompatibilityStrategy") is None
    assert topic.pulsar.ask("DELETE", f"{topic.itself}/schemaValidationEnforced").status == 405
    assert topic.pulsar.ask("GET", f"{topic.itself}/isAllowAutoUpdateSchema").status == 404


def test_a_namespace_may_be_made_with_its_settings(pulsar: Pulsar, pulsar_namespace: str) -> None:
    settings = {
        "schema_compatibility_strategy": "FORWARD",
        "is_allow_auto_update_schema": False,
        "schema_validation_enforced": True,
    }

    pulsar.tell("PUT", f"/namespaces/{pulsar_namespace}-2", settings)

    policies = pulsar.tell("GET", f"/namespaces/{pulsar_namespace}-2")
    assert {name: policies[name] for name in settings} == settings
    again = pulsar.ask("PUT", f"/namespaces/{pulsar_namespace}-2", settings)
    assert (again.status, again.json) == (409, {"reason": "Namespace already exists"})
    pulsar.tell("DELETE", f"/namespaces/{pulsar_namespace}-2")


@pytest.mark.parametrize(
    ("method", "setting", "value"),
    [
        ("GET", "schemaCompatibilityStrategy", None),
        ("PUT", "schemaCompatibilityStrategy", "FULL"),
        ("POST", "isAllowAutoUpdateSchema", True),
        ("POST", "schemaValidationEnforced", True),
    ],
)
def test_a_namespace_that_is_missing_is_404_with_its_reason(
    topic: RestTopic, method: str, setting: str, value: object
) -> None:
    answer = topic.pulsar.ask(method, f"/namespaces/{topic.namespace}-missing/{setting}", value)

    assert (answer.status, answer.json) == (404, {"reason": "Namespace does not exist"})
