import pytest

from support.schemas.examples import parsed, record
from topicschema.core.policy import (
    BrokerProfile,
    Constraints,
    Policy,
    StrategySource,
    effective_strategy,
    may_claim,
    violations,
)
from topicschema.core.schemas import SchemaType
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


def test_what_the_constraints_allow_breaks_none() -> None:
    constraints = Constraints((SchemaType.AVRO,), (Strategy.FULL,), ("owner",), 1000)
    info = parsed(SchemaType.AVRO, '"string"', {"owner": "team-a"}).info
    assert violations(info, Strategy.FULL, constraints) == ()
    assert violations(info, None, constraints) == ()
    assert violations(info, Strategy.UNDEFINED, constraints) == ()  # it takes the topic's own strategy away
    assert violations(info, Strategy.BACKWARD, Constraints()) == ()


def test_every_constraint_that_is_broken_is_reported_with_its_field() -> None:
    constraints = Constraints((SchemaType.JSON,), (Strategy.FULL,), ("owner", "tier"), 10)
    broken = violations(record("id").info, Strategy.BACKWARD, constraints)
    assert [(one.rule, one.path) for one in broken] == [
        ("TYPE_NOT_ALLOWED", "spec.type"),
        ("STRATEGY_NOT_ALLOWED", "spec.schemaCompatibilityStrategy"),
        ("PROPERTY_MISSING", "spec.properties"),
        ("PROPERTY_MISSING", "spec.properties"),
        ("SCHEMA_TOO_LARGE", "spec.schema"),
    ]


def test_the_size_limit_counts_bytes_not_characters() -> None:
    info = parsed(SchemaType.AVRO, '{"type":"string","doc":"ä"}').info
    length = len(info.schema)
    assert violations(info, None, Constraints(max_schema_bytes=length)) == ()
    assert [one.rule for one in violations(info, None, Constraints(max_schema_bytes=length - 1))] == [
        "SCHEMA_TOO_LARGE"
    ]


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
