"""Warnings and refusals of a policy's validation settings."""

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
GATE, REPORT = {"mode": "Gate"}, {"mode": "Report"}
OURS = {"tls": {"caSecretKeyRef": {"name": "ours", "key": "ca.crt"}}}
THEIRS = {"tls": {"caSecretKeyRef": {"name": "theirs", "key": "ca.crt"}}}
GATE_WITH_TOKEN = {**GATE, "authentication": TOKEN}
FILES = {"source": {"files": {"uri": "s3://a/b"}}}


def policy(**spec: Any) -> NamespaceSchemaPolicy:
    members = {"registry": "p", "pulsarNamespace": "shop/orders", "pulsar": PULSAR, **spec}
    return decode(NamespaceSchemaPolicy, {"metadata": {"name": "orders"}, "spec": members})


@pytest.mark.parametrize(
    ("stored", "words"),
    [
        (policy(), []),
        (policy(validation={"mode": "Off"}), []),
        (policy(validation=GATE), ["clients may add schemas without it"]),
        (policy(validation=GATE, isAllowAutoUpdateSchema=False), []),
        (policy(validation=REPORT), []),
        (policy(validation=REPORT, pulsar=None), ["spec.pulsar.serviceURL"]),
        (policy(validation={**GATE, **FILES}, pulsar=None), []),
        (policy(validation=REPORT, pulsar=KNOWN), ["no credentials"]),
        (policy(validation={**REPORT, "authentication": TOKEN}, pulsar=KNOWN), []),
        (policy(validation={**REPORT, **FILES}, pulsar=KNOWN), []),
        (policy(validation={**REPORT, "includeValues": True}), ["includeValues"]),
        (policy(validation={**REPORT, "authentication": TOKEN}), []),
        (policy(validation=REPORT, pulsar=PLAIN), []),
        (
            policy(validation={**REPORT, "authentication": TOKEN}, pulsar=PLAIN),
            ["spec.pulsar.adminURL is not encrypted", "spec.pulsar.serviceURL is not encrypted"],
        ),
    ],
)
def test_each_limit_of_a_validation_has_a_warning_once(stored: NamespaceSchemaPolicy, words: list[str]) -> None:
    lines = list(warnings(stored, None))
    assert len(lines) == len(words)
    assert all(word in line for word, line in zip(words, lines, strict=True))
    assert list(warnings(stored, stored)) == []


class Refusing:
    """An API server whose authorizer allows no user to create pods."""

    async def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        del path, body
        return {"status": {"allowed": False}}


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        (policy(validation=GATE_WITH_TOKEN), policy(validation={**GATE_WITH_TOKEN, **REPORT}), None),
        (policy(validation=GATE), policy(validation=GATE_WITH_TOKEN), "spec.validation.authentication"),
        (policy(), policy(validation={**GATE, "template": {"image": "i"}}), "spec.validation.template"),
        (
            policy(validation=GATE_WITH_TOKEN, pulsar={**PULSAR, **OURS}),
            policy(validation=GATE_WITH_TOKEN, pulsar={**PULSAR, **THEIRS}),
            "spec.validation.authentication",
        ),
        (
            policy(validation=GATE_WITH_TOKEN, pulsar={**PULSAR, **OURS}),
            policy(validation=GATE_WITH_TOKEN),
            "spec.validation.authentication",
        ),
        (policy(validation=GATE_WITH_TOKEN, pulsar={**PULSAR, **OURS}), policy(pulsar={**PULSAR, **OURS}), None),
        (policy(), policy(pulsar={**PULSAR, **OURS}), "spec.pulsar.tls"),
        (None, policy(validation=GATE, pulsar={**PULSAR, **OURS}), "spec.pulsar.tls"),
        (policy(pulsar={**PULSAR, **OURS}), policy(), None),
        (None, policy(pulsar={"adminURL": "https://pulsar:8443", **OURS}), None),
    ],
)
async def test_a_user_who_may_not_create_pods_changes_neither_their_secrets_nor_their_authorities(
    old: NamespaceSchemaPolicy | None, new: NamespaceSchemaPolicy, field: str | None
) -> None:
    review = Review("u", "UPDATE", "g", "k", "shop", "orders", {}, {}, 0, {"username": "alice"})
    cause = await refusal(Refusing(), review, new, old)
    assert (None if cause is None else cause.field) == field
