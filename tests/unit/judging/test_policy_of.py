"""What a policy says of judging, by what it sets itself and what was seen at its broker.

The order is Pulsar's: topic, namespace, the namespace's deprecated setting, broker (AdminResource and
SchemaRegistryServiceImpl, line 4.0); "not set" and UNDEFINED ask the next level.
"""

from typing import Any

import pytest

from topicschema.api.policies import NamespaceSchemaPolicy
from topicschema.api.wire import decode
from topicschema.core.policy import EffectiveStrategy, StrategySource, effective_strategy
from topicschema.core.strategies import BY_AUTO_UPDATE_NAME, Strategy
from topicschema.judging.policies import policy_of

_PULSAR = {"adminURL": "https://pulsar:8443"}


def policy(observed: dict[str, Any] | None = None, **spec: Any) -> NamespaceSchemaPolicy:
    members = {"pulsarCluster": "pulsar", "pulsarNamespace": "shop/orders", "pulsar": _PULSAR, **spec}
    status = {} if observed is None else {"observed": observed}
    return decode(NamespaceSchemaPolicy, {"metadata": {"name": "orders"}, "spec": members, "status": status})


def in_force(resource: NamespaceSchemaPolicy, override: Strategy | None = None) -> tuple[str, str]:
    found: EffectiveStrategy = effective_strategy(policy_of(resource), override)
    return found.value.value, found.source.value


NAMESPACE, OLDER, BROKER = (
    {"schemaCompatibilityStrategy": "FORWARD"},
    {"schemaAutoUpdateCompatibilityStrategy": "BackwardTransitive"},
    {"broker": {"schemaCompatibilityStrategy": "BACKWARD"}},
)
PROFILE = {"schemaCompatibilityStrategy": "FULL_TRANSITIVE"}


@pytest.mark.parametrize(
    ("sentence", "spec", "observed", "value", "source"),
    [
        ("nothing anywhere", {}, {}, "FULL", "Broker"),
        ("what was seen at this broker", {}, NAMESPACE | {"address": "pulsar:8443"}, "FORWARD", "Namespace"),
        ("what was seen at an earlier one", {}, NAMESPACE | {"address": "former:8443"}, "FULL", "Broker"),
        ("a broker that was never seen", {}, None, "FULL", "Broker"),
        ("the profile alone", {"brokerProfile": PROFILE}, {}, "FULL_TRANSITIVE", "Broker"),
        ("the broker's own before the profile", {"brokerProfile": PROFILE}, BROKER, "BACKWARD", "Broker"),
        ("a broker that does not tell", {"brokerProfile": PROFILE}, {"broker": {}}, "FULL_TRANSITIVE", "Broker"),
        ("the deprecated setting before the broker's", {}, OLDER | BROKER, "BACKWARD_TRANSITIVE", "Namespace"),
        ("the namespace's before both", {}, NAMESPACE | OLDER | BROKER, "FORWARD", "Namespace"),
        (
            "UNDEFINED there asks the next level",
            {},
            {"schemaCompatibilityStrategy": "UNDEFINED"} | OLDER,
            "BACKWARD_TRANSITIVE",
            "Namespace",
        ),
        (
            "UNDEFINED at the broker is FULL",
            {"brokerProfile": PROFILE},
            {"broker": {"schemaCompatibilityStrategy": "UNDEFINED"}},
            "FULL",
            "Broker",
        ),
        (
            "what the spec sets before all that is there",
            {"schemaCompatibilityStrategy": "ALWAYS_COMPATIBLE"},
            NAMESPACE | OLDER | BROKER,
            "ALWAYS_COMPATIBLE",
            "Namespace",
        ),
        (
            "what the spec unsets is not there any more",
            {"schemaCompatibilityStrategy": "UNDEFINED"},
            NAMESPACE | BROKER,
            "BACKWARD",
            "Broker",
        ),
        (
            "what the spec unsets leaves the deprecated setting in force",
            {"schemaCompatibilityStrategy": "UNDEFINED"},
            NAMESPACE | OLDER | BROKER,
            "BACKWARD_TRANSITIVE",
            "Namespace",
        ),
        (
            "a deprecated setting of a name to come",
            {},
            {"schemaAutoUpdateCompatibilityStrategy": "Sometimes"} | BROKER,
            "BACKWARD",
            "Broker",
        ),
        (
            "a policy that only observes and says nothing",
            {"managementPolicy": "Observe"},
            NAMESPACE,
            "FORWARD",
            "Namespace",
        ),
    ],
)
def test_the_first_level_that_says_something_counts(
    sentence: str, spec: dict[str, Any], observed: dict[str, Any] | None, value: str, source: str
) -> None:
    assert in_force(policy(observed, **spec)) == (value, source), sentence


def test_a_topic_s_own_strategy_comes_before_all_others() -> None:
    resource = policy(NAMESPACE | OLDER | BROKER, schemaCompatibilityStrategy="FULL")
    assert in_force(resource, Strategy.BACKWARD) == ("BACKWARD", StrategySource.TOPIC.value)
    assert in_force(resource, Strategy.UNDEFINED) == ("FULL", StrategySource.NAMESPACE.value)


def test_what_was_seen_at_a_broker_that_is_named_no_more_counts_for_nothing() -> None:
    assert in_force(policy(NAMESPACE | OLDER | BROKER, pulsar=None)) == ("FULL", "Broker")


@pytest.mark.parametrize(("name", "strategy"), BY_AUTO_UPDATE_NAME.items())
def test_each_name_of_the_deprecated_setting_stands_for_a_strategy(name: str, strategy: Strategy) -> None:
    seen = policy({"schemaAutoUpdateCompatibilityStrategy": name})
    assert in_force(seen) == (strategy.value, "Namespace")


def test_a_status_that_cannot_be_read_is_as_none() -> None:
    assert in_force(policy({"schemaCompatibilityStrategy": 7})) == ("FULL", "Broker")
