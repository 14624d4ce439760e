"""One Pulsar namespace from the first install to the removal: observed, managed, locked, gated, excepted, upgraded."""

import json
from collections.abc import Iterator

import pytest

from support.kubernetes.operator_pods import upgrade
from support.kubernetes.pods import Pods
from support.pulsar.rest_topic import RestTopic, optional, record
from support.validation.node_namespace import RetainedShop, conditions
from support.validation.topic_orders import WIDER, WRITTEN, whole
from testbed import helm
from testbed.errors import TestbedError
from testbed.product import NAMESPACE as SYSTEM

pytestmark = [pytest.mark.timeout(1500), pytest.mark.full]

STRATEGY = {"schemaCompatibilityStrategy": "BACKWARD_TRANSITIVE"}
LOCK = {"isAllowAutoUpdateSchema": False, "unmanagedTopics": {"exempt": ["*-DLQ"], "schemaless": "Ignore"}}
EXCEPTION = {"allowedStrategies": ["ALWAYS_COMPATIBLE"], "until": "2099-12-31", "reason": "old consumers are gone"}
BREAKING = {**WIDER, "fields": [*WIDER["fields"], {"name": "region", "type": "string"}]}


@pytest.fixture
def installed_again(operator: Pods) -> Iterator[None]:
    """Install the operator in the end, for the tests after this one."""
    yield
    upgrade(operator.cluster, {})


def at_broker(shop: RetainedShop, setting: str) -> object:
    return shop.broker.call("GET", f"/namespaces/{shop.topic.namespace}/{setting}")


@pytest.mark.usefixtures("installed_again")
def test_a_namespace_is_observed_managed_locked_gated_and_left(shop: RetainedShop, operator: Pods) -> None:
    shop.fill(whole(1_000))
    shop.broker.call("PUT", f"/persistent/{shop.topic.namespace}/raw")  # plain bytes, without a schema
    RestTopic(shop.broker, shop.topic.namespace, "created-DLQ").upload_version(record(optional("a")))
    shop.apply_registry(executors=2)

    shop.apply_policy(reason="Observed", managementPolicy="Observe", **STRATEGY)
    shop.propose(WRITTEN)
    shop.ready("Observed")
    assert at_broker(shop, "schemaCompatibilityStrategy") == "UNDEFINED"

    shop.apply_policy(**STRATEGY)
    assert shop.ready("Registered")["schemaVersion"] == 0
    assert at_broker(shop, "schemaCompatibilityStrategy") == "BACKWARD_TRANSITIVE"

    shop.apply_policy(**STRATEGY, **LOCK)
    assert at_broker(shop, "isAllowAutoUpdateSchema") is False

    shop.apply_policy(**STRATEGY, **LOCK, validation={"mode": "Gate"})
    shop.propose(WIDER)
    status = shop.ready("Registered", 400)
    assert (status["schemaVersion"], status["validation"]["phase"]) == (1, "Passed")
    assert status["validation"]["plan"].endswith("judged by 2 Spark executors")

    with pytest.raises(TestbedError, match="STRATEGY_NOT_ALLOWED"):
        shop.propose(BREAKING, schemaCompatibilityStrategy="ALWAYS_COMPATIBLE")
    exceptions = [{"topic": shop.topic.name, **EXCEPTION}]
    shop.apply_policy(**STRATEGY, **LOCK, constraints={"exceptions": exceptions})
    shop.propose(BREAKING, schemaCompatibilityStrategy="ALWAYS_COMPATIBLE")
    status = shop.ready("Registered")
    assert status["schemaVersion"] == 2
    assert "old consumers are gone" in conditions(status)["Compatible"]["message"]

    upgrade(operator.cluster, {"controller": {"logLevel": "WARNING"}})
    with pytest.raises(TestbedError, match="FIELD_WITHOUT_DEFAULT"):
        shop.propose({**BREAKING, "fields": [*BREAKING["fields"], {"name": "zone", "type": "string"}]})

    helm.uninstall(operator.cluster, SYSTEM)
    (history,) = [
        each
        for each in operator.cluster.get("-n", SYSTEM, "schemahistories")["items"]
        if each["spec"]["pulsarNamespace"] == shop.topic.namespace and each["spec"]["localName"] == shop.topic.name
    ]
    assert len(history["spec"]["versions"]) == 3, json.dumps(history)
    assert shop.rest.versions() == [0, 1, 2]
