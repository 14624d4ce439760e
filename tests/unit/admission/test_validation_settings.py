"""What is told of a policy's validation when it is stored."""

from typing import Any

import pytest

from topicschema.admission.review import Review
from topicschema.admission.validation_settings import refusal, warnings
from topicschema.api.policies import NamespaceSchemaPolicy
from topicschema.api.wire import decode

PULSAR = {"adminURL": "https://pulsar:8443", "serviceURL": "pulsar+ssl://pulsar:6651"}
PLAIN = {"adminURL": "http://pulsar:8080", "serviceURL": "pulsar://pulsar:6650"}
TOKEN = {"token": {"secretKeyRef": {"name": "reader", "key": "token"}}}
KNOWN = {**PULSAR, "authentication": TOKEN}
GATE = {"mode": "Gate"}
OURS = {"tls": {"caSecretKeyRef": {"name": "ours", "key": "ca.crt"}}}
THEIRS = {"tls": {"caSecretKeyRef": {"name": "theirs", "key": "ca.crt"}}}
KEPT = {**GATE, "authentication": TOKEN}
FILES = {"source": {"files": {"uri": "s3://a/b"}}}


def policy(**spec: Any) -> NamespaceSchemaPolicy:
    members = {"pulsarCluster": "p", "pulsarNamespace": "shop/orders", "pulsar": PULSAR, **spec}
    return decode(NamespaceSchemaPolicy, {"metadata": {"name": "orders"}, "spec": members})


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (policy(), []),
        (policy(validation={"mode": "Off"}), []),
        (policy(validation=GATE), ["clients may add schemas without it"]),
        (policy(validation=GATE, isAllowAutoUpdateSchema=False), []),
        (policy(validation={"mode": "Report"}), []),
        (policy(validation={"mode": "Report"}, pulsar=None), ["spec.pulsar.serviceURL"]),
        (policy(validation={**GATE, **FILES}, pulsar=None), []),
        (policy(validation={"mode": "Report"}, pulsar=KNOWN), ["no credentials"]),
        (policy(validation={"mode": "Report", "authentication": TOKEN}, pulsar=KNOWN), []),
        (policy(validation={"mode": "Report", **FILES}, pulsar=KNOWN), []),
        (policy(validation={"mode": "Report", "includeValues": True}), ["includeValues"]),
        (policy(validation={"mode": "Report", "authentication": TOKEN}), []),
        (policy(validation={"mode": "Report"}, pulsar=PLAIN), []),
        (
            policy(validation={"mode": "Report", "authentication": TOKEN}, pulsar=PLAIN),
            ["spec.pulsar.adminURL is not encrypted", "spec.pulsar.serviceURL is not encrypted"],
        ),
    ],
)
def test_what_a_validation_will_not_do_is_told_once(wanted: NamespaceSchemaPolicy, words: list[str]) -> None:
    told = list(warnings(wanted, None))
    assert len(told) == len(words)
    assert all(word in line for word, line in zip(words, told, strict=True))
    assert list(warnings(wanted, wanted)) == []


class Refusing:
    """An authorizer that lets nobody create pods."""

    async def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        del path, body
        return {"status": {"allowed": False}}


@pytest.mark.parametrize(
    ("old", "wanted", "field"),
    [
        (policy(validation=KEPT), policy(validation={**KEPT, "mode": "Report"}), None),
        (policy(validation=GATE), policy(validation=KEPT), "spec.validation.authentication"),
        (policy(), policy(validation={**GATE, "template": {"image": "i"}}), "spec.validation.template"),
        (
            policy(validation=KEPT, pulsar={**PULSAR, **OURS}),
            policy(validation=KEPT, pulsar={**PULSAR, **THEIRS}),
            "spec.validation.authentication",
        ),
        (
            policy(validation=KEPT, pulsar={**PULSAR, **OURS}),
            policy(validation=KEPT),
            "spec.validation.authentication",
        ),
        (policy(validation=KEPT, pulsar={**PULSAR, **OURS}), policy(pulsar={**PULSAR, **OURS}), None),
        (policy(), policy(pulsar={**PULSAR, **OURS}), "spec.pulsar.tls"),
        (None, policy(validation=GATE, pulsar={**PULSAR, **OURS}), "spec.pulsar.tls"),
        (policy(pulsar={**PULSAR, **OURS}), policy(), None),
        (None, policy(pulsar={"adminURL": "https://pulsar:8443", **OURS}), None),
    ],
)
async def test_who_may_not_create_pods_changes_neither_what_they_carry_nor_whom_they_trust(
    old: NamespaceSchemaPolicy | None, wanted: NamespaceSchemaPolicy, field: str | None
) -> None:
    review = Review("u", "UPDATE", "g", "k", "shop", "orders", {}, {}, 0, {"username": "alice"})
    found = await refusal(Refusing(), review, wanted, old)
    assert (None if found is None else found.field) == field
