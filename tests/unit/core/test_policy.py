from dataclasses import replace

import pytest

from support.schemas.examples import parsed, record
from topicschema.core.policy import (
    BrokerProfile,
    Constraints,
    Policy,
    StrategySource,
    TopicChoices,
    effective_strategy,
    may_claim,
    violations,
)
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy

TOPIC, NAMESPACE, BROKER = StrategySource.TOPIC, StrategySource.NAMESPACE, StrategySource.BROKER


@pytest.mark.parametrize(
    ("override", "namespace", "profile", "value", "source"),
    [
        (Strategy.FORWARD, Strategy.BACKWARD, Strategy.FULL, Strategy.FORWARD, TOPIC),
        (None, Strategy.BACKWARD, Strategy.FULL, Strategy.BACKWARD, NAMESPACE),
        (Strategy.UNDEFINED, Strategy.BACKWARD, Strategy.FULL, Strategy.BACKWARD, NAMESPACE),
        (None, None, Strategy.FORWARD, Strategy.FORWARD, BROKER),
        (None, Strategy.UNDEFINED, Strategy.FORWARD, Strategy.FORWARD, BROKER),
        (None, None, Strategy.UNDEFINED, Strategy.FULL, BROKER),
    ],
)
def test_the_first_level_with_a_strategy_decides(
    override: Strategy | None,
    namespace: Strategy | None,
    profile: Strategy,
    value: Strategy,
    source: StrategySource,
) -> None:
    effective = effective_strategy(Policy(namespace, profile=BrokerProfile(strategy=profile)), override)
    assert (effective.value, effective.source) == (value, source)


def rules_of(
    constraints: Constraints, strategy: Strategy | None = None, info: SchemaInfo | None = None
) -> list[tuple[str, str]]:
    policy = Policy(Strategy.FULL, constraints=constraints)
    broken = violations(info or record("id").info, TopicChoices(strategy), policy)
    return [(one.rule, one.path) for one in broken]


def test_what_the_constraints_allow_breaks_none() -> None:
    constraints = Constraints((SchemaType.AVRO,), (Strategy.BACKWARD,), ("owner",), 1000)
    info = parsed(SchemaType.AVRO, '"string"', {"owner": "team-a"}).info
    # UNDEFINED removes the topic's own strategy
    for strategy in (Strategy.BACKWARD, None, Strategy.UNDEFINED):
        assert rules_of(constraints, strategy, info) == []


NOT_ALLOWED = [("STRATEGY_NOT_ALLOWED", "spec.schemaCompatibilityStrategy")]


@pytest.mark.parametrize(
    ("allowed", "strategy", "rules"),
    [
        ((), Strategy.FULL_TRANSITIVE, []),
        ((), Strategy.BACKWARD, NOT_ALLOWED),
        ((), Strategy.UNDEFINED, []),
        ((Strategy.BACKWARD,), Strategy.BACKWARD, []),
        ((Strategy.BACKWARD,), Strategy.FULL_TRANSITIVE, NOT_ALLOWED),
        ((Strategy.BACKWARD,), Strategy.UNDEFINED, []),
    ],
)
def test_a_topic_may_set_the_listed_strategies_or_without_a_list_none_that_is_weaker(
    allowed: tuple[Strategy, ...], strategy: Strategy, rules: list[tuple[str, str]]
) -> None:
    assert rules_of(Constraints(allowed_strategies=allowed), strategy) == rules


def test_a_strategy_of_the_broker_is_the_measure_of_a_policy_without_its_own() -> None:
    policy = Policy(None, profile=BrokerProfile(strategy=Strategy.FORWARD), constraints=Constraints())
    for unmanaged in (None, Strategy.ALWAYS_COMPATIBLE):
        (broken,) = violations(
            record("id").info, TopicChoices(Strategy.BACKWARD), replace(policy, unmanaged_strategy=unmanaged)
        )
        assert broken.message == (
            "the policy allows none that is weaker than its own FORWARD as a topic's own strategy, not BACKWARD"
        )


def test_every_constraint_that_is_broken_is_reported_with_its_field() -> None:
    constraints = Constraints((SchemaType.JSON,), (Strategy.FULL,), ("owner", "tier"), 10)
    assert rules_of(constraints, Strategy.BACKWARD) == [
        ("TYPE_NOT_ALLOWED", "spec.type"),
        ("STRATEGY_NOT_ALLOWED", "spec.schemaCompatibilityStrategy"),
        ("PROPERTY_MISSING", "spec.properties"),
        ("PROPERTY_MISSING", "spec.properties"),
        ("SCHEMA_TOO_LARGE", "spec.schema"),
    ]


def test_the_size_limit_counts_bytes_not_characters() -> None:
    info = parsed(SchemaType.AVRO, '{"type":"string","doc":"ä"}').info
    length = len(info.schema)
    assert rules_of(Constraints(max_schema_bytes=length), info=info) == []
    assert rules_of(Constraints(max_schema_bytes=length - 1), info=info) == [("SCHEMA_TOO_LARGE", "spec.schema")]


@pytest.mark.parametrize(
    ("globs", "pulsar_namespace", "answer"),
    [
        ("shop/orders", "shop/orders", "yes"),
        ("shop/*", "shop/orders", "yes"),
        ("*/orders", "shop/orders", "yes"),
        ("*", "shop/orders", "no"),
        ("shop*", "shop/orders", "no"),
        ("*/*", "shop/orders", "yes"),
        ("a/b shop/ord*", "shop/orders", "yes"),
        ("shop/orders", "shop/orders2", "no"),
        ("shop/orders", "shopXorders", "no"),
        ("shop.orders", "shop/orders", "no"),
        ("", "shop/orders", "no"),
    ],
)
def test_a_glob_allows_what_it_matches_and_its_star_stops_at_the_slash(
    globs: str, pulsar_namespace: str, answer: str
) -> None:
    assert may_claim(globs.split(), pulsar_namespace) is (answer == "yes")
