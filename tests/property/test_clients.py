"""Properties of `core.clients`, over schemas that parse, schemas that do not, and any bytes at all."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from support.pulsar.connections import (
    BROKEN,
    ID,
    INVALID_DEFAULT,
    MORE,
    NEEDS,
    NONE,
    STRANGER,
    STRING,
    UNION,
    avro,
    field,
)
from topicschema.core.clients import Client, ConnectOutcome, TopicState, connect
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy

LEGACY = SchemaInfo(SchemaType.JSON, b'{"type": "object", "id": "x"}')
ENDLESS = avro(field("self", "R"))
KNOWN = [ID, MORE, NEEDS, STRANGER, INVALID_DEFAULT, BROKEN, NONE, STRING, UNION, LEGACY, ENDLESS]
PROPERTIES = st.dictionaries(
    st.sampled_from(["key.schema.type", "value.schema.type", "key.schema.properties", "kv.encoding.type"]),
    st.sampled_from(["STRING", "AVRO", "INLINE", "KEY_VALUE", "{}", "nonsense", ""]),
)
TYPES = st.sampled_from(SchemaType)
TEXTS = st.one_of(st.sampled_from([each.schema for each in KNOWN]), st.binary(max_size=40), st.just(bytes(8)))
SCHEMAS = st.one_of(st.sampled_from(KNOWN), st.builds(SchemaInfo, TYPES, TEXTS, PROPERTIES))
STATES = st.builds(
    TopicState,
    st.lists(st.one_of(SCHEMAS, st.none()), max_size=4).map(tuple),
    st.sampled_from(Strategy),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
MANY = settings(max_examples=300, deadline=None)


@MANY
@given(st.sampled_from(Client), st.one_of(SCHEMAS, st.none()), STATES)
def test_every_client_of_every_topic_gets_a_consistent_response(
    client: Client, sent: SchemaInfo | None, topic: TopicState
) -> None:
    response = connect(client, sent, topic)
    assert response.may_connect == (response.error is None)
    assert response.may_connect == (not response.message and not response.incompatibilities)
    assert response.upgrade_first is topic.strategy.upgrade_first
    if response.outcome is ConnectOutcome.REGISTERS_VERSION:
        assert topic.allows_auto_update
        assert response.schema_version == len(topic.history)
    elif response.outcome is ConnectOutcome.USES_VERSION:
        assert response.schema_version in dict(topic.versions)
    else:
        assert response.schema_version is None


@MANY
@given(SCHEMAS, STATES)
def test_what_a_producer_registered_it_uses_the_next_time_or_the_broker_fails_after_a_warning(
    sent: SchemaInfo, topic: TopicState
) -> None:
    first = connect(Client.PRODUCER, sent, topic)
    if first.outcome is not ConnectOutcome.REGISTERS_VERSION:
        return
    after = replace(topic, history=(*topic.history, sent))
    again = connect(Client.PRODUCER, sent, after)
    if again.may_connect:
        assert (again.outcome, again.schema_version) == (ConnectOutcome.USES_VERSION, first.schema_version)
    else:
        assert first.warnings


@MANY
@given(SCHEMAS, STATES)
def test_enforcement_and_use_change_nothing_for_a_producer_with_a_schema(sent: SchemaInfo, topic: TopicState) -> None:
    if sent.type in (SchemaType.BYTES, SchemaType.AUTO_PUBLISH):
        return
    other = replace(topic, enforces_validation=not topic.enforces_validation, is_in_use=not topic.is_in_use)
    assert connect(Client.PRODUCER, sent, topic) == connect(Client.PRODUCER, sent, other)
