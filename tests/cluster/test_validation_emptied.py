"""A report is emptied on a real API server, of what somebody else wrote into it, too."""

from dataclasses import replace

import pytest

from support.kubernetes.passes import reconcile_context
from support.schemas.examples import record
from testbed import install
from testbed.cluster import Cluster
from topicschema.api.kinds import CONFIG_MAP, TOPIC_SCHEMA
from topicschema.api.topicschemas import TopicSchema, TopicSchemaStatus
from topicschema.api.wire import decode
from topicschema.broker.host_allow_list import AllowedHosts
from topicschema.cluster.client import ApiClient
from topicschema.cluster.connection import Connection
from topicschema.reconcile.brokers import Brokers
from topicschema.reconcile.runtime.status_apply import FIELD_MANAGER
from topicschema.reconcile.validation.report_configmap import manifest, without_values

SHOWN = b'{"examples":[{"value":"4111 1111"}]}'


@pytest.mark.parametrize("manager", ["", "kubectl-edit"])
async def test_a_report_is_emptied_whoever_wrote_what_it_shows(cluster: Cluster, namespace: str, manager: str) -> None:
    install.install_crds(cluster)
    async with ApiClient(Connection.load(str(cluster.kubeconfig))) as client:
        spec = {
            "topic": "persistent://shop/orders/created",
            "type": "AVRO",
            "schema": record("id").info.schema.decode(),
        }
        body = {"apiVersion": TOPIC_SCHEMA.api_version, "kind": TOPIC_SCHEMA.name, "metadata": {"name": "created"}}
        resource = decode(TopicSchema, await client.create(TOPIC_SCHEMA, namespace, {**body, "spec": spec}))
        report = manifest(resource.metadata, "job", SHOWN)
        name = report["metadata"]["name"]
        made = await client.apply(CONFIG_MAP, namespace, name, report, field_manager=FIELD_MANAGER)
        if manager:
            del report["metadata"]["ownerReferences"]
            await client.apply(CONFIG_MAP, namespace, name, report, field_manager=manager)
        named = TopicSchemaStatus(report_with_values=name)
        async with reconcile_context(client, Brokers(client, AllowedHosts.parse(""), lambda: None)) as ctx:
            after = await without_values(ctx, replace(resource, status=named), None)
        left = await client.get(CONFIG_MAP, namespace, name)
    assert after.status.report_with_values is None
    assert (list(left["data"]), left["metadata"]["uid"]) == (["note"], made["metadata"]["uid"])
    assert "4111 1111" not in str(left)
