"""Warnings of a policy's validation settings."""

from typing import Any

import pytest

from support.kubernetes.registries import registry
from topicschema.admission.validation_settings import warnings
from topicschema.api.policies import NamespaceSchemaPolicy
from topicschema.api.registries import SchemaRegistry
from topicschema.api.wire import decode

GATE, REPORT = {"mode": "Gate"}, {"mode": "Report"}
FILES = {"source": {"files": {"uri": "s3://a/{topic}"}}}
ADMIN_ONLY = {"adminURL": "https://pulsar:8443"}
PULSAR = {**ADMIN_ONLY, "serviceURL": "pulsar+ssl://pulsar:6651"}


def policy(**spec: Any) -> NamespaceSchemaPolicy:
    members = {"registry": "pulsar", "pulsarNamespace": "shop/orders", **spec}
    return decode(NamespaceSchemaPolicy, {"metadata": {"name": "orders"}, "spec": members})


def of(pulsar: dict[str, Any] | None = PULSAR, **validation: Any) -> SchemaRegistry:
    """Return a registry with validation."""
    return decode(SchemaRegistry, registry("pulsar", pulsar, validation=validation))


WITHOUT = decode(SchemaRegistry, registry("pulsar", PULSAR))


@pytest.mark.parametrize(
    ("stored", "registry", "words"),
    [
        (policy(), of(), []),
        (policy(validation={"mode": "Off"}), WITHOUT, []),
        (policy(validation=GATE), of(), ["clients may add schemas without it"]),
        (policy(validation=GATE, isAllowAutoUpdateSchema=False), of(), []),
        (policy(validation=REPORT), of(), []),
        (policy(validation=REPORT), WITHOUT, ["registry pulsar has no spec.validation"]),
        (policy(validation=REPORT), of(ADMIN_ONLY), ["registry pulsar has no spec.pulsar.serviceURL"]),
        (policy(validation=REPORT), of(None), ["registry pulsar has no spec.pulsar.serviceURL"]),
        (policy(validation={**GATE, **FILES}), of(None), []),
        (policy(validation={**REPORT, **FILES}), of(ADMIN_ONLY), []),
        (policy(validation=REPORT), of(includeValues=True), ["registry pulsar includes values"]),
    ],
)
def test_each_limit_of_a_validation_has_a_warning_once(
    stored: NamespaceSchemaPolicy, registry: SchemaRegistry, words: list[str]
) -> None:
    lines = list(warnings(stored, registry, None))
    assert len(lines) == len(words)
    assert all(word in line for word, line in zip(words, lines, strict=True))
    assert list(warnings(stored, registry, stored)) == []
