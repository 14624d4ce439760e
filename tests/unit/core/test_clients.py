"""Connections: Pulsar's table of producers and its table of consumers, row by row."""

from dataclasses import replace

import pytest

from support.pulsar.connections import (
    AUTO_CONSUME,
    AUTO_PRODUCE,
    BROKEN,
    BYTES,
    EMPTY,
    ID,
    INCOMPATIBLE,
    MORE,
    NEEDS,
    NO_VERSION,
    NONE,
    NOT_FOUND,
    REGISTERS,
    SPACED,
    STRANGER,
    STRING,
    USES,
    WITHOUT,
    avro,
    consumer,
    field,
    is_refused,
    producer,
    rules,
    topic,
)
from topicschema.core.clients import Client, ConnectResult, connect
from topicschema.core.schemas import SchemaInfo
from topicschema.core.strategies import Strategy, UpgradeFirst

ANY_STRATEGY = pytest.mark.parametrize("strategy", list(Strategy))
NOT_ALWAYS_COMPATIBLE = pytest.mark.parametrize("strategy", [s for s in Strategy if s != Strategy.ALWAYS_COMPATIBLE])
EITHER_WAY = pytest.mark.parametrize("allowed", [True, False])
EACH_CONSUMER = pytest.mark.parametrize("client", [Client.CONSUMER, Client.READER])


# Producers.


@ANY_STRATEGY
@EITHER_WAY
@pytest.mark.parametrize("sent", [None, BYTES])
@pytest.mark.parametrize("enforced", [True, False])
def test_a_producer_without_a_schema_connects_to_a_topic_without_one(
    sent: SchemaInfo | None, strategy: Strategy, *, allowed: bool, enforced: bool
) -> None:
    state = topic(strategy=strategy, allows_auto_update=allowed, enforces_validation=enforced, is_in_use=True)
    response = producer(sent, state)
    assert (response.outcome, response.schema_version, response.may_connect) == (NO_VERSION, None, True)


@ANY_STRATEGY
@EITHER_WAY
@pytest.mark.parametrize("sent", [None, BYTES])
def test_a_producer_without_a_schema_connects_to_a_topic_that_has_one_unless_validation_is_enforced(
    sent: SchemaInfo | None, strategy: Strategy, *, allowed: bool
) -> None:
    state = topic(ID, strategy=strategy, allows_auto_update=allowed)
    assert producer(sent, state).outcome is NO_VERSION
    assert is_refused(producer(sent, replace(state, enforces_validation=True)), INCOMPATIBLE, WITHOUT)


def test_after_a_deletion_a_topic_counts_as_having_no_schema() -> None:
    assert producer(None, topic(ID, None, enforces_validation=True)).outcome is NO_VERSION
    assert is_refused(producer(None, topic(ID, None, ID, enforces_validation=True)), INCOMPATIBLE, WITHOUT)


@ANY_STRATEGY
def test_a_none_that_is_really_sent_is_registered_and_then_refuses_others(strategy: Strategy) -> None:
    response = producer(NONE, topic(strategy=strategy))
    assert (response.outcome, response.schema_version) == (REGISTERS, 0)
    assert [each.rule for each in response.warnings] == ["UNSUPPORTED_TYPE"]
    assert producer(NONE, topic(NONE, strategy=strategy)).outcome is USES
    after = producer(ID, topic(NONE, strategy=strategy))
    message = "Incompatible schema: exists schema type NONE, new schema type AVRO"
    assert after.may_connect if strategy is Strategy.ALWAYS_COMPATIBLE else is_refused(after, INCOMPATIBLE, message)


@NOT_ALWAYS_COMPATIBLE
def test_a_none_that_is_really_sent_is_refused_by_a_topic_of_another_type(strategy: Strategy) -> None:
    response = producer(NONE, topic(ID, strategy=strategy))
    assert is_refused(response, INCOMPATIBLE, "Incompatible schema: exists schema type AVRO, new schema type NONE")
    assert rules(response) == ["TYPE_CHANGED"]


@ANY_STRATEGY
def test_an_empty_topic_takes_any_producers_schema_as_its_first_version(strategy: Strategy) -> None:
    response = producer(ID, topic(strategy=strategy, is_in_use=True))
    assert (response.outcome, response.schema_version, response.warnings) == (REGISTERS, 0, ())
    assert producer(STRING, topic(ID, MORE, None, strategy=strategy)).schema_version == 3


@ANY_STRATEGY
@EITHER_WAY
@pytest.mark.parametrize("sent", [ID, SPACED, avro(field("id"), doc="what it is")])
def test_a_producer_with_a_known_schema_gets_its_oldest_version_whatever_the_settings(
    sent: SchemaInfo, strategy: Strategy, *, allowed: bool
) -> None:
    state = topic(ID, None, MORE, ID, STRANGER, ID, strategy=strategy, allows_auto_update=allowed)
    response = producer(sent, state)
    assert (response.outcome, response.schema_version) == (USES, 3)


def test_a_producers_schema_that_may_follow_is_the_next_version() -> None:
    response = producer(MORE, topic(ID, strategy=Strategy.FULL))
    assert (response.outcome, response.schema_version, response.upgrade_first) == (REGISTERS, 1, UpgradeFirst.ANY)


PRODUCERS = {
    Strategy.ALWAYS_COMPATIBLE: (True, True, True),
    Strategy.BACKWARD: (True, False, False),
    Strategy.BACKWARD_TRANSITIVE: (False, False, False),
    Strategy.FORWARD: (True, True, False),
    Strategy.FORWARD_TRANSITIVE: (True, True, False),
    Strategy.FULL: (True, False, False),
    Strategy.FULL_TRANSITIVE: (False, False, False),
    Strategy.ALWAYS_INCOMPATIBLE: (False, False, False),
    Strategy.UNDEFINED: (False, False, False),
}


@pytest.mark.parametrize(("strategy", "expected"), PRODUCERS.items())
def test_each_strategy_looks_at_the_latest_version_or_at_all_in_its_own_directions(
    strategy: Strategy, expected: tuple[bool, ...]
) -> None:
    response = (
        producer(NEEDS, topic(ID, MORE, strategy=strategy)),
        producer(NEEDS, topic(ID, strategy=strategy)),
        producer(STRANGER, topic(ID, strategy=strategy)),
    )
    assert tuple(each.may_connect for each in response) == expected
    for each in response:
        assert each.may_connect or is_refused(
            each, INCOMPATIBLE, f"Error during schema compatibility check with strategy {strategy}: "
        )


@ANY_STRATEGY
@pytest.mark.parametrize("history", [(), (MORE,), (ID, None), (STRING,)])
def test_without_auto_update_a_producers_new_schema_is_not_found(
    history: tuple[SchemaInfo | None, ...], strategy: Strategy
) -> None:
    response = producer(ID, topic(*history, strategy=strategy, allows_auto_update=False))
    assert is_refused(response, INCOMPATIBLE, NOT_FOUND)
    assert response.incompatibilities == ()


@ANY_STRATEGY
@EITHER_WAY
def test_auto_produce_takes_what_the_topic_has(strategy: Strategy, *, allowed: bool) -> None:
    state = topic(ID, MORE, strategy=strategy, allows_auto_update=allowed, enforces_validation=True)
    response = producer(AUTO_PRODUCE, state)
    assert (response.outcome, response.schema_version) == (USES, 1)


@pytest.mark.parametrize("history", [(), (ID, None)])
def test_auto_produce_is_a_producer_without_a_schema_where_the_topic_has_none(
    history: tuple[SchemaInfo | None, ...],
) -> None:
    state = topic(*history, allows_auto_update=False, enforces_validation=True)
    assert producer(AUTO_PRODUCE, state).outcome is NO_VERSION
    assert is_refused(producer(AUTO_PRODUCE, topic(NONE, enforces_validation=True)), INCOMPATIBLE, WITHOUT)


# Consumers.


@ANY_STRATEGY
@EITHER_WAY
@EACH_CONSUMER
@pytest.mark.parametrize("sent", [None, BYTES, AUTO_CONSUME])
@pytest.mark.parametrize("history", [(), (ID,), (STRANGER, None)])
def test_a_consumer_without_a_schema_of_its_own_subscribes_unchecked_and_enforcement_is_not_for_it(
    client: Client,
    sent: SchemaInfo | None,
    history: tuple[SchemaInfo | None, ...],
    strategy: Strategy,
    *,
    allowed: bool,
) -> None:
    state = topic(*history, strategy=strategy, allows_auto_update=allowed, enforces_validation=True, is_in_use=True)
    assert connect(client, sent, state) == ConnectResult(NO_VERSION, strategy.upgrade_first)


@ANY_STRATEGY
@EACH_CONSUMER
def test_the_first_consumer_of_an_idle_topic_registers_its_schema(client: Client, strategy: Strategy) -> None:
    response = connect(client, ID, topic(strategy=strategy, enforces_validation=True))
    assert (response.outcome, response.schema_version) == (REGISTERS, 0)
    assert connect(client, ID, topic(STRING, None, strategy=strategy)).schema_version == 2


@ANY_STRATEGY
@EACH_CONSUMER
def test_an_idle_topic_without_auto_update_refuses_the_consumer(client: Client, strategy: Strategy) -> None:
    response = connect(client, ID, topic(strategy=strategy, allows_auto_update=False))
    assert is_refused(response, INCOMPATIBLE, NOT_FOUND)


@EITHER_WAY
@pytest.mark.parametrize("history", [(), (STRANGER,), (STRING,), (ID, None)])
@pytest.mark.parametrize("sent", [ID, STRING, NONE, BROKEN])
def test_an_active_topic_lets_every_consumer_in_under_always_compatible_and_registers_nothing(
    sent: SchemaInfo, history: tuple[SchemaInfo | None, ...], *, allowed: bool
) -> None:
    state = topic(*history, strategy=Strategy.ALWAYS_COMPATIBLE, allows_auto_update=allowed, is_in_use=True)
    assert replace(consumer(sent, state), warnings=()) == ConnectResult(NO_VERSION, UpgradeFirst.ANY)


@NOT_ALWAYS_COMPATIBLE
@EITHER_WAY
@pytest.mark.parametrize("history", [(), (ID, None)])
def test_an_active_topic_without_a_schema_refuses_every_consumer_that_has_one(
    history: tuple[SchemaInfo | None, ...], strategy: Strategy, *, allowed: bool
) -> None:
    response = consumer(ID, topic(*history, strategy=strategy, allows_auto_update=allowed, is_in_use=True))
    assert is_refused(response, INCOMPATIBLE, EMPTY)


# Responses to a consumer of NEEDS, of MORE and of STRANGER, if the topic has ID and then MORE.
CONSUMERS = {
    Strategy.ALWAYS_COMPATIBLE: (True, True, True),
    Strategy.BACKWARD: (True, True, False),
    Strategy.FORWARD: (True, True, False),
    Strategy.FORWARD_TRANSITIVE: (True, True, False),
    Strategy.FULL: (True, True, False),
    Strategy.BACKWARD_TRANSITIVE: (False, True, False),
    Strategy.FULL_TRANSITIVE: (False, True, False),
    Strategy.ALWAYS_INCOMPATIBLE: (False, False, False),
    Strategy.UNDEFINED: (False, False, False),
}


@pytest.mark.parametrize(("strategy", "expected"), CONSUMERS.items())
@EITHER_WAY
@EACH_CONSUMER
@pytest.mark.parametrize("in_use", [True, False])
def test_a_consumer_must_read_the_versions_of_its_strategy_and_registers_nothing(
    client: Client, strategy: Strategy, expected: tuple[bool, ...], *, allowed: bool, in_use: bool
) -> None:
    state = topic(ID, MORE, strategy=strategy, allows_auto_update=allowed, is_in_use=in_use)
    response = [connect(client, sent, state) for sent in (NEEDS, MORE, STRANGER)]
    assert tuple(each.may_connect for each in response) == expected
    assert {each.outcome for each in response if each.may_connect} <= {NO_VERSION}
    assert all(each.error is INCOMPATIBLE for each in response if not each.may_connect)
