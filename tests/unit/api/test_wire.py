"""Conversion of resources between JSON and values: fields, defaults, errors with their place, brokers."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.broker_objects import MANAGED, NUMBERED, ORIGINAL, RIGHT_BROKERS
from cluster.wrong_objects import CLAIM, HISTORY, POLICY, TOPIC, changed
from topicschema.api.brokers import ManagementPolicy, ObservedBroker, ObservedSettings
from topicschema.api.metadata import Condition, ConditionStatus, ConditionType, Metadata
from topicschema.api.policies import ConstraintsSpec, NamespaceSchemaPolicy, NamespaceSchemaPolicyStatus
from topicschema.api.store import ClaimContent, claim_from_wire, history_from_wire
from topicschema.api.topicschemas import (
    DeletionPolicy,
    EffectiveStrategyStatus,
    TopicSchema,
    TopicSchemaStatus,
    VersionStatus,
)
from topicschema.api.wire import decode, decode_status, encode
from topicschema.core.errors import StalledError
from topicschema.core.history import NumberedBy, Origin, StoredTopicSettings
from topicschema.core.policy import StrategySource
from topicschema.core.remote import NamespaceSettings, Setting, TopicSettings
from topicschema.core.schemas import SchemaType
from topicschema.core.strategies import Strategy


def topic_schema(**spec: Any) -> dict[str, Any]:
    """Return a TopicSchema as the API server sends it, with members of `spec` changed."""
    return {
        "apiVersion": "topicschema.io/v1alpha1",
        "kind": "TopicSchema",
        "metadata": {"name": "created", "namespace": "shop", "uid": "u-1", "generation": 2, "managedFields": [{}]},
        "spec": {"topic": "persistent://shop/orders/created", "type": "AVRO", "schema": '"string"', **spec},
    }


STATUS = TopicSchemaStatus(
    observed_generation=2,
    conditions=(Condition(type=ConditionType.READY, status=ConditionStatus.TRUE, reason="Registered"),),
    schema_version=0,
    effective_strategy=EffectiveStrategyStatus(value=Strategy.FULL, source=StrategySource.BROKER),
    versions=(
        VersionStatus(
            incarnation=0,
            schema_version=0,
            type=SchemaType.AVRO,
            fingerprint="sha256:" + "0" * 64,
            registered_at="2026-11-21T05:30:00Z",
            origin=Origin.SPEC,
        ),
    ),
)


def test_a_resource_is_read_by_its_names_on_the_wire() -> None:
    wire = topic_schema(schemaCompatibilityStrategy="FULL", properties={"owner": "team-a"}, deletionPolicy="Delete")
    resource = decode(TopicSchema, wire)
    assert resource.metadata == Metadata(name="created", namespace="shop", uid="u-1", generation=2)
    assert resource.spec.type is SchemaType.AVRO
    assert resource.spec.schema_compatibility_strategy is Strategy.FULL
    assert resource.spec.properties == {"owner": "team-a"}
    assert resource.spec.deletion_policy is DeletionPolicy.DELETE
    assert resource.status == TopicSchemaStatus()


def test_an_absent_member_and_a_null_one_both_take_the_default() -> None:
    resource = decode(TopicSchema, topic_schema(schema=None, properties=None, suspend=None, deletionPolicy=None))
    assert resource.spec.schema == ""
    assert resource.spec.properties == {}
    assert resource.spec.suspend is False
    assert resource.spec.deletion_policy is DeletionPolicy.RETAIN


def test_a_status_reads_as_it_was_written() -> None:
    wire = json.loads(json.dumps(encode(STATUS)))
    assert decode(TopicSchemaStatus, wire) == STATUS


def test_a_written_status_has_every_field_but_those_that_have_no_value() -> None:
    wire = encode(TopicSchemaStatus(schema_version=0))
    assert wire == {
        "observedGeneration": -1,
        "conditions": [],
        "schemaVersion": 0,
        "versionCount": 0,
        "versions": [],
        "incompatibilityCount": 0,
        "incompatibilities": [],
    }


@pytest.mark.parametrize("status", [7, [], "x", {"versions": "many"}, {"conditions": [{"type": "Strange"}]}])
def test_an_unreadable_status_is_the_empty_one(status: Any) -> None:
    assert decode(TopicSchema, topic_schema() | {"status": status}).status == TopicSchemaStatus()
    assert decode_status(TopicSchemaStatus, status) == TopicSchemaStatus()


WRONG = {
    "no spec": ({"metadata": {"name": "a"}}, "spec: is required"),
    "spec is null": ({"metadata": {"name": "a"}, "spec": None}, "spec: is required"),
    "spec is a list": ({"metadata": {"name": "a"}, "spec": []}, "spec: must be an object, not a list"),
    "metadata is a text": ({"metadata": "a", "spec": {}}, "metadata: must be an object, not a text"),
    "not an object at all": ([], "must be an object, not a list"),
    "no topic": (topic_schema(topic=None), "spec.topic: is required"),
    "topic is a number": (topic_schema(topic=1), "spec.topic: must be a text, not a number"),
    "topic is an object": (topic_schema(topic={"a": 1}), "spec.topic: must be a text, not an object"),
    "type in another case": (topic_schema(type="avro"), "spec.type: write AVRO, not 'avro'"),
    "another type": (topic_schema(type="THRIFT"), "spec.type: must be one of NONE, STRING, "),
    "type is an object": (topic_schema(type={}), "spec.type: must be a text, not an object"),
    "schema is an object": (topic_schema(schema={"type": "record"}), "spec.schema: must be a text, not an object"),
    "half a surrogate pair": (topic_schema(schema='"\ud800"'), "spec.schema: must be Unicode text"),
    "a property is a number": (topic_schema(properties={"a": 1}), "spec.properties[a]: must be a text, not a number"),
    "properties is a text": (topic_schema(properties="a"), "spec.properties: must be an object, not a text"),
    "suspend is a text": (topic_schema(suspend="true"), "spec.suspend: must be true or false, not a text"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_member_is_refused_with_its_place(name: str) -> None:
    wire, message = WRONG[name]
    with pytest.raises(StalledError) as caught:
        decode(TopicSchema, wire)
    assert caught.value.reason == "InvalidResource"
    assert caught.value.message.startswith(message)


def test_an_item_of_a_list_is_named_by_its_position() -> None:
    wire = {"allowedTypes": ["AVRO", "JSON", "XML"]}
    with pytest.raises(StalledError, match=r"^spec\.constraints\.allowedTypes\[2\]: must be one of .*, not 'XML'$"):
        decode(ConstraintsSpec, wire, "spec.constraints")


@pytest.mark.parametrize("number", [True, 1.0, "1", 10**4000, -(2**63) - 1])
def test_a_number_is_whole_and_has_64_bits(number: Any) -> None:
    with pytest.raises(StalledError, match=r"^maxSchemaBytes: must be a whole number"):
        decode(ConstraintsSpec, {"maxSchemaBytes": number})


def test_an_error_repeats_little_of_what_it_refuses() -> None:
    huge = "secret\n" * 100_000
    for wire in (topic_schema(type=huge), topic_schema(properties={huge: 1}), topic_schema(topic=[huge])):
        with pytest.raises(StalledError) as caught:
            decode(TopicSchema, wire)
        assert len(caught.value.message) < 500
        assert "\n" not in caught.value.message


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)
MEMBERS = st.sampled_from(["metadata", "spec", "status", "name", "topic", "type", "schema", "properties", "conditions"])
RESOURCE_LIKE = st.recursive(
    JSON | st.sampled_from(["AVRO", "persistent://a/b/c", "FULL"]),
    lambda inner: st.dictionaries(MEMBERS, inner, max_size=6) | st.lists(inner, max_size=3),
    max_leaves=30,
)


@given(RESOURCE_LIKE)
def test_any_json_is_read_or_refused(wire: Any) -> None:
    for cls in (TopicSchema, NamespaceSchemaPolicy):
        try:
            resource = decode(cls, wire)
        except StalledError as error:
            assert error.reason == "InvalidResource"  # noqa: PT017 - most examples are refused, some are not
        else:
            assert decode(cls, encode(resource)) == resource


@given(st.dictionaries(st.sampled_from(["topic", "type", "schema", "properties", "suspend", "deletionPolicy"]), JSON))
def test_an_object_with_wrong_members_is_read_or_refused(members: dict[str, Any]) -> None:
    try:
        decode(TopicSchema, topic_schema(**members))
    except StalledError as error:
        assert error.message.startswith("spec.")  # noqa: PT017 - some examples are right


OBSERVED = {
    "schemaCompatibilityStrategy": "FULL",
    "schemaAutoUpdateCompatibilityStrategy": "AutoUpdateDisabled",
    "isAllowAutoUpdateSchema": False,
    "schemaValidationEnforced": True,
    "broker": {
        "schemaCompatibilityStrategy": "BACKWARD",
        "isAllowAutoUpdateSchema": True,
        "schemaValidationEnforced": False,
    },
}


@pytest.mark.parametrize(
    "row", [row for row in RIGHT_BROKERS if row.base["kind"] == "NamespaceSchemaPolicy"], ids=lambda row: row.sentence
)
def test_every_field_of_a_policy_reads_as_it_was_written(row: Any) -> None:
    wire = changed(row.base, row.path, row.value)
    encoded = encode(decode(NamespaceSchemaPolicy, wire).spec)
    assert encoded == wire["spec"]


def test_every_field_of_a_topic_reads_as_it_was_written() -> None:
    spec = decode(TopicSchema, MANAGED).spec
    assert spec.schema_validation_enforced is False
    assert encode(spec) == MANAGED["spec"]


UNMANAGED = {
    "topic": "billed",
    "reason": "HasSchema",
    "producerCount": 6,
    "producers": [{"name": "billing-1", "clientVersion": "Pulsar-Java-v4.0.7", "address": "/10.0.0.3:41210"}],
}


def test_observed_settings_read_as_they_were_written() -> None:
    status = {"observed": OBSERVED, "unmanagedTopicCount": 21, "unmanagedTopics": [UNMANAGED]}
    read = decode_status(NamespaceSchemaPolicyStatus, status)
    assert read.observed == ObservedSettings(
        schema_compatibility_strategy=Strategy.FULL,
        schema_auto_update_compatibility_strategy="AutoUpdateDisabled",
        is_allow_auto_update_schema=False,
        schema_validation_enforced=True,
        broker=ObservedBroker(
            schema_compatibility_strategy=Strategy.BACKWARD,
            is_allow_auto_update_schema=True,
            schema_validation_enforced=False,
        ),
    )
    assert status.items() <= encode(read).items()


def test_settings_not_observed_differ_from_settings_not_set() -> None:
    assert "observed" not in encode(NamespaceSchemaPolicyStatus())
    assert encode(NamespaceSchemaPolicyStatus(observed=ObservedSettings()))["observed"] == {}
    assert decode_status(NamespaceSchemaPolicyStatus, {"observed": {}}).observed == ObservedSettings()


def test_resources_of_a_version_without_brokers_decode_as_before() -> None:
    policy, topic = decode(NamespaceSchemaPolicy, POLICY), decode(TopicSchema, TOPIC)
    assert policy.spec.is_allow_auto_update_schema is policy.spec.schema_validation_enforced is None
    assert policy.spec.management_policy is ManagementPolicy.MANAGE
    assert topic.spec.schema_validation_enforced is None
    assert (policy.status.observed, policy.status.registry) == (None, None)


def test_a_history_of_a_version_without_brokers_is_numbered_by_the_operator() -> None:
    history, claim = history_from_wire(HISTORY), claim_from_wire(CLAIM)
    assert not {"numberedBy", "topicSettings"} & HISTORY["spec"].keys()
    assert history.numbered_by is NumberedBy.OPERATOR
    assert history.topic_settings is None
    old = json.loads(json.dumps(CLAIM))
    del old["spec"]["managed"]
    assert claim_from_wire(old) == claim
    assert (claim.original, claim.managed) == (None, ())


def test_a_history_has_original_and_written_settings_also_in_an_earlier_format() -> None:
    history = history_from_wire(NUMBERED)
    assert history.numbered_by is NumberedBy.BROKER
    assert history.topic_settings == StoredTopicSettings(
        original=TopicSettings(), written=TopicSettings(Strategy.FULL, enforces_validation=True)
    )
    claim = claim_from_wire(ORIGINAL)
    settings = NamespaceSettings(Strategy.FULL, "Full", allows_auto_update=True, enforces_validation=False)
    assert claim == ClaimContent(claim.owner, settings, (Setting.STRATEGY, Setting.AUTO_UPDATE))
