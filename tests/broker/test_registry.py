"""The REST registry of a SchemaRegistry with a Pulsar cluster: uploads reach the broker, and reads do not need it."""

from collections.abc import Iterator

import pytest

from support.kubernetes.registry_process import RegistryClient, run_registry
from support.pulsar.brokered_namespace import BrokeredShop
from support.pulsar.brokered_topic import ONE, TWO, BrokeredTopic
from testbed.product import Product

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
