"""What is told of clients that connect, and will lose or misread messages, or make others do so."""

import pytest

from support.pulsar.connections import (
    BROKEN,
    ID,
    NO_VERSION,
    NONE,
    REGISTERS,
    STRING,
    USES,
    avro,
    consumer,
    field,
    producer,
    topic,
)
from topicschema.core.clients import Connection
from topicschema.core.schemas import PulsarLine, SchemaInfo, SchemaType
from topicschema.core.strategies import Direction, Strategy


def suits(*symbols: str, kind: SchemaType = SchemaType.AVRO) -> SchemaInfo:
    return avro(field("suit", {"type": "enum", "name": "Suit", "symbols": list(symbols)}), kind=kind)


WIDE, NARROW = suits("HEARTS", "SPADES"), suits("HEARTS")


def told(found: Connection) -> list[tuple[str, Direction | None, int | None]]:
    return [(each.rule, each.direction, each.schema_version) for each in found.warnings]


def test_a_producer_that_registers_is_told_who_will_not_read_it() -> None:
    found = producer(WIDE, topic(NARROW, strategy=Strategy.FORWARD))
    assert (found.outcome, told(found)) == (REGISTERS, [("ENUM_SYMBOL_UNKNOWN", Direction.FORWARD, 0)])
    assert told(producer(NARROW, topic(WIDE, strategy=Strategy.FORWARD))) == []


def test_a_consumer_is_told_what_it_will_not_read() -> None:
    found = consumer(NARROW, topic(WIDE, strategy=Strategy.FORWARD))
    assert (found.outcome, told(found)) == (NO_VERSION, [("ENUM_SYMBOL_UNKNOWN", Direction.BACKWARD, 0)])
    assert told(consumer(WIDE, topic(NARROW, strategy=Strategy.FORWARD))) == []


def test_risks_are_those_of_the_versions_that_are_compared() -> None:
    history = (WIDE, NARROW)
    third = suits("HEARTS", "CLUBS")
    backward = [("ENUM_SYMBOL_UNKNOWN", Direction.BACKWARD, 0)]
    assert told(producer(third, topic(*history, strategy=Strategy.BACKWARD))) == []
    assert told(producer(third, topic(*history, strategy=Strategy.BACKWARD_TRANSITIVE))) == backward
    assert told(consumer(third, topic(*history, strategy=Strategy.FULL))) == []
    assert told(consumer(third, topic(*history, strategy=Strategy.BACKWARD_TRANSITIVE))) == backward


def test_types_that_the_broker_does_not_check_have_their_risks_told() -> None:
    wide, narrow = (suits(*symbols, kind=SchemaType.PROTOBUF) for symbols in (("HEARTS", "SPADES"), ("HEARTS",)))
    assert [rule for rule, *_ in told(consumer(narrow, topic(wide)))] == ["ENUM_SYMBOL_UNKNOWN"]


@pytest.mark.parametrize("sent", [STRING, NONE, BROKEN])
def test_a_changed_type_is_told_where_any_type_may_connect(sent: SchemaInfo) -> None:
    history = topic(suits("HEARTS", kind=SchemaType.JSON), strategy=Strategy.ALWAYS_COMPATIBLE)
    assert told(consumer(sent, history)) == [("TYPE_CHANGED", None, 0)]


def test_of_texts_that_cannot_be_read_no_risk_is_told() -> None:
    for line in PulsarLine:
        state = topic(BROKEN, strategy=Strategy.ALWAYS_COMPATIBLE, line=line)
        assert told(consumer(ID, state)) == told(consumer(BROKEN, state)) == []


def test_a_pair_that_is_taken_for_another_is_told_of() -> None:
    types = {"key.schema.type": "STRING", "value.schema.type": "INT32"}
    pair = SchemaInfo(SchemaType.KEY_VALUE, bytes(8), types)
    other = SchemaInfo(SchemaType.KEY_VALUE, bytes(8), {**types, "value.schema.type": "INT64"})
    found = producer(other, topic(pair))
    assert (found.outcome, told(found)) == (USES, [("PART_TYPE_CHANGED", None, 0)])
    assert told(producer(pair, topic(pair))) == []
