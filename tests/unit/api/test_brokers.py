"""What resources say of brokers, as it is read and written; objects from before there were brokers read as they did."""

import json
from typing import Any

import pytest

from cluster.broker_objects import COUNTED, FOUND, MANAGED, RIGHT_BROKERS
from cluster.wrong_objects import CLAIM, HISTORY, POLICY, TOPIC, changed
from topicschema.api import crds
from topicschema.api.brokers import AdoptionPolicy, ManagementPolicy, ObservedBroker, ObservedSettings
from topicschema.api.policies import NamespaceSchemaPolicy, NamespaceSchemaPolicyStatus
from topicschema.api.record import Claim, claim_from_wire, history_from_wire
from topicschema.api.topicschemas import TopicSchema
from topicschema.api.wire import decode, decode_status, encode
from topicschema.core.history import Counter, TopicSettingsRecord
from topicschema.core.remote import NamespaceSettings, Setting, TopicSettings
from topicschema.core.strategies import Strategy

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


def schema_of(plural: str) -> Any:
    (version,) = crds.documents()[f"topicschema.io_{plural}.yaml"]["spec"]["versions"]
    return version["schema"]["openAPIV3Schema"]


def unknown_to(schema: Any, wire: Any, path: str = "") -> list[str]:
    """The places in an object that its CRD does not have."""
    if "properties" not in schema:
        return []
    return [
        place
        for name, member in wire.items()
        for place in (
            unknown_to(schema["properties"][name], member, f"{path}.{name}")
            if name in schema["properties"]
            else [f"{path}.{name}"]
        )
    ]


@pytest.mark.parametrize("row", RIGHT_BROKERS, ids=[row.sentence for row in RIGHT_BROKERS])
def test_every_field_is_in_its_crd(row: Any) -> None:
    wire = changed(row.base, row.path, row.value)
    plurals = {
        "TopicSchema": "topicschemas",
        "NamespaceSchemaPolicy": "namespaceschemapolicies",
        "SchemaHistory": "schemahistories",
        "PulsarNamespaceClaim": "pulsarnamespaceclaims",
    }
    assert unknown_to(schema_of(plurals[wire["kind"]]), wire) == []


@pytest.mark.parametrize(
    "row", [row for row in RIGHT_BROKERS if row.base["kind"] == "NamespaceSchemaPolicy"], ids=lambda row: row.sentence
)
def test_every_field_of_a_policy_reads_as_it_was_written(row: Any) -> None:
    wire = changed(row.base, row.path, row.value)
    encoded = encode(decode(NamespaceSchemaPolicy, wire).spec)
    assert encoded == wire["spec"]


def test_every_field_of_a_topic_reads_as_it_was_written() -> None:
    spec = decode(TopicSchema, MANAGED).spec
    assert (spec.management_policy, spec.adoption_policy) == (ManagementPolicy.OBSERVE, AdoptionPolicy.REFUSE)
    assert spec.schema_validation_enforced is False
    assert encode(spec) == MANAGED["spec"]


def test_what_was_observed_reads_as_it_was_written_and_is_in_the_crd() -> None:
    status = {"observed": OBSERVED, "undeclaredTopicCount": 21, "undeclaredTopics": ["persistent://shop/orders/a"]}
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
    assert unknown_to(schema_of("namespaceschemapolicies"), {"status": encode(read)}) == []


def test_nothing_observed_yet_is_told_from_nothing_set() -> None:
    assert "observed" not in encode(NamespaceSchemaPolicyStatus())
    assert encode(NamespaceSchemaPolicyStatus(observed=ObservedSettings()))["observed"] == {}
    assert decode_status(NamespaceSchemaPolicyStatus, {"observed": {}}).observed == ObservedSettings()


def test_resources_from_before_there_were_brokers_say_what_they_always_said() -> None:
    policy, topic = decode(NamespaceSchemaPolicy, POLICY), decode(TopicSchema, TOPIC)
    assert policy.spec.pulsar is None
    assert policy.spec.is_allow_auto_update_schema is policy.spec.schema_validation_enforced is None
    assert policy.spec.management_policy is topic.spec.management_policy is ManagementPolicy.MANAGE
    assert topic.spec.adoption_policy is AdoptionPolicy.ADOPT
    assert topic.spec.schema_validation_enforced is None
    assert policy.status.observed is None


def test_a_record_from_before_there_were_brokers_is_the_operator_s_own() -> None:
    history, claim = history_from_wire(HISTORY), claim_from_wire(CLAIM)
    assert not {"countedBy", "topicSettings"} & HISTORY["spec"].keys()
    assert history.counted_by is Counter.OPERATOR
    assert history.topic_settings is None
    old = json.loads(json.dumps(CLAIM))
    del old["spec"]["managed"]
    assert claim_from_wire(old) == claim
    assert (claim.original, claim.managed) == (None, ())


def test_the_record_tells_what_was_found_and_what_is_written_also_one_that_an_earlier_release_wrote() -> None:
    history = history_from_wire(COUNTED)
    assert history.counted_by is Counter.BROKER
    assert history.topic_settings == TopicSettingsRecord(
        original=TopicSettings(),
        written=TopicSettings(Strategy.FULL, enforces_validation=True),
    )
    claim = claim_from_wire(FOUND)
    settings = NamespaceSettings(Strategy.FULL, "Full", allows_auto_update=True, enforces_validation=False)
    assert claim == Claim(claim.owner, settings, (Setting.STRATEGY, Setting.AUTO_UPDATE))
