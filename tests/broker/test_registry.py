"""The REST registry of a SchemaRegistry with a Pulsar cluster: uploads reach the broker, and reads do not need it.

One without a Pulsar cluster gets generated calls, and a broker gets the same.
"""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.checks import content_type_conformance, response_schema_conformance, status_code_conformance

from support.kubernetes.registry_process import RegistryClient, run_registry
from support.kubernetes.watched_namespace import watch_shop
from support.pulsar.brokered_namespace import BrokeredShop
from support.pulsar.brokered_topic import ONE, TWO, BrokeredTopic
from testbed.cluster import Cluster
from testbed.product import Product
from testbed.pulsar import Pulsar

pytestmark = [pytest.mark.timeout(300), pytest.mark.broker]


@pytest.fixture(scope="module")
def client(shared_controller: Product) -> Iterator[RegistryClient]:
    with run_registry(shared_controller) as client:
        yield client


async def test_uploads_and_deletions_reach_the_broker_and_reads_need_none(
    client: RegistryClient, shop: BrokeredShop
) -> None:
    topic = BrokeredTopic(shop)
    await topic.govern(schemaCompatibilityStrategy="FULL")
    path = f"/{shop.watched.namespace}/admin/v2/schemas/{shop.pulsar_namespace}/{topic.name}"
    for number, schema in enumerate((ONE, TWO, ONE)):
        sent = {"type": "AVRO", "schema": schema, "properties": {"owner": "a"}}
        response = client.request("POST", f"{path}/schema", sent)
        assert response.json == {"version": {"version": number % 2}}, response
    deleted = client.request("DELETE", f"{path}/schema")
    assert deleted.json == {"version": 2}, deleted
    assert (topic.rest.versions(), topic.rest.index()) == ([], [0, 1, 2])
    assert client.request("GET", f"{path}/schema").status == 404
    assert client.request("DELETE", f"{path}/schema").status == 409
    for number, schema in enumerate((ONE, TWO), 3):
        response = client.request("POST", f"{path}/schema", {"type": "AVRO", "schema": schema})
        assert response.json == {"version": {"version": number}}, response
    of_broker = [topic.rest.read(number).json for number in (3, 4)]
    for each in of_broker:
        each["timestamp"] -= each["timestamp"] % 1000  # the store has seconds
    shop.proxy.refuse()
    assert client.request("GET", f"{path}/schemas").json == {"getSchemaResponses": of_broker}
    assert client.request("GET", f"{path}/schema").json == of_broker[1]


async def test_a_refusal_names_the_rule_and_changes_nothing(client: RegistryClient, shop: BrokeredShop) -> None:
    topic = BrokeredTopic(shop)
    await topic.govern(schemaCompatibilityStrategy="FULL")
    path = f"/{shop.watched.namespace}/admin/v2/schemas/{shop.pulsar_namespace}/{topic.name}/schema"
    assert client.request("POST", path, {"type": "AVRO", "schema": ONE}).status == 200
    refused = client.request("POST", path, {"type": "STRING", "schema": ""})
    assert refused.status == 409
    assert "exists schema type AVRO, new schema type STRING: TYPE_CHANGED" in refused.json["message"]
    assert topic.rest.versions() == [0]


@pytest.mark.full
@pytest.mark.timeout(1_200)
async def test_generated_calls_get_no_500_that_a_broker_does_not_give(
    client: RegistryClient, cluster: Cluster, namespace: str, pulsar: Pulsar, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    pulsar.request("PUT", "/tenants/shop", {"allowedClusters": pulsar.call("GET", "/clusters")})
    pulsar.call("PUT", f"/namespaces/shop/{namespace}")
    served = client.request("GET", "/openapi.json").json
    document = schemathesis.openapi.from_dict({**served, "security": []})  # each call has the token
    operations = [each.ok() for each in document.get_all_operations()]
    modes = list(schemathesis.GenerationMode)
    cases = st.one_of([each.as_strategy(generation_mode=mode) for each in operations for mode in modes])
    names = {"tenant": "shop", "namespace": namespace, "topic": "created"}

    @settings(max_examples=3_000, suppress_health_check=list(HealthCheck), deadline=None)
    @given(cases, st.sampled_from([names, {}]))
    def answers_alike(case: schemathesis.Case[Any], of_path: dict[str, str]) -> None:
        case.path_parameters |= {name: text for name, text in of_path.items() if name in case.path_parameters}
        own = {"Authorization": f"Bearer {client.token}"}
        answer = case.call(f"{client.url}/{namespace}", headers=own, verify=str(client.ca), timeout=60)
        of_broker = case.call(pulsar.admin_url, timeout=60)
        # Of two mistakes in a call, the answer is about one.
        assert answer.status_code != 500 or of_broker.status_code >= 400, answer.text
        if answer.content:
            checks = [content_type_conformance, response_schema_conformance, status_code_conformance]
            case.validate_response(answer, checks=checks)

    async with watch_shop(cluster, namespace) as shop:
        shop.govern()
        await shop.policy_ready("Active")
        await asyncio.to_thread(answers_alike)
