"""What is told of a policy's validation when it is stored."""

from typing import Any

import pytest

from topicschema.admission.validation import warnings
from topicschema.api.policies import NamespaceSchemaPolicy
from topicschema.api.wire import decode

PULSAR = {"adminURL": "https://pulsar:8443", "serviceURL": "pulsar+ssl://pulsar:6651"}
PLAIN = {"adminURL": "http://pulsar:8080", "serviceURL": "pulsar://pulsar:6650"}
TOKEN = {"token": {"secretKeyRef": {"name": "reader", "key": "token"}}}
GATE = {"mode": "Gate"}
FILES = {"source": {"files": {"uri": "s3://a/b"}}}


def policy(**spec: Any) -> NamespaceSchemaPolicy:
    members = {"pulsarCluster": "p", "pulsarNamespace": "shop/orders", "pulsar": PULSAR, **spec}
    return decode(NamespaceSchemaPolicy, {"metadata": {"name": "orders"}, "spec": members})


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (policy(), []),
        (policy(validation={"mode": "Off"}), []),
        (policy(validation=GATE), ["clients may add schemas by themselves"]),
        (policy(validation=GATE, isAllowAutoUpdateSchema=False), []),
        (policy(validation={"mode": "Report"}), []),
        (policy(validation={"mode": "Report"}, pulsar=None), ["spec.pulsar.serviceURL"]),
        (policy(validation={**GATE, **FILES}, pulsar=None), []),
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
