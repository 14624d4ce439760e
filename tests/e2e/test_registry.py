"""The REST registry as the chart installs it: a client in a pod uploads and reads by the Service's name."""

import base64
import json
from pathlib import Path

import pytest

from support.kubernetes.operator_pods import upgrade
from support.kubernetes.pods import Pods
from support.kubernetes.registries import registry
from testbed.certificates import Authority

pytestmark = [pytest.mark.full, pytest.mark.timeout(600)]

_SERVICE = "topicschema-registry.topicschema-system.svc"
_SECRET = "topicschema-registry-tls"  # noqa: S105 - its name
_CALL = """
import json, ssl, sys, urllib.error, urllib.request
url, token, ca, *body = sys.argv[1:]
headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
request = urllib.request.Request(url, body[0].encode() if body else None, headers)
try:
    answer = urllib.request.urlopen(request, context=ssl.create_default_context(cadata=ca))
except urllib.error.HTTPError as error:
    answer = error
print(json.dumps([answer.status, answer.read().decode()]))
"""
_SCHEMA = {"type": "STRING", "schema": "", "properties": {"owner": "team-a"}}


def test_a_pod_uploads_a_schema_and_reads_it_with_the_token_of_its_account(
    operator: Pods, pods: Pods, tmp_path: Path
) -> None:
    cluster, name = pods.cluster, pods.namespace
    certificate = Authority.at(tmp_path).issue("registry", [_SERVICE])
    files = {"tls.crt": certificate.certificate, "tls.key": certificate.key}
    data = {key: base64.b64encode(file.read_bytes()).decode() for key, file in files.items()}
    metadata = {"name": _SECRET, "namespace": operator.namespace}
    secret = {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": metadata, "data": data}
    policy = {"registry": name, "pulsarNamespace": "shop/orders"}
    for wire in (secret, registry(name), _namespaced("NamespaceSchemaPolicy", "orders", name, {"spec": policy})):
        cluster.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(wire))
    cluster.kubectl("-n", name, "create", "serviceaccount", "app")
    cluster.kubectl("-n", name, "create", "rolebinding", "app", "--clusterrole=edit", f"--serviceaccount={name}:app")
    cluster.kubectl("-n", name, "wait", "nsp/orders", "--for=condition=Ready", "--timeout=120s", seconds=130)
    token = cluster.kubectl("-n", name, "create", "token", "app").strip()
    ca = certificate.ca.read_text("ascii")

    def call(path: str, *body: str, bearer: str = token) -> tuple[int, str]:
        program = ("exec", "deploy/topicschema-webhook", "--", "python", "-c", _CALL)
        url = f"https://{_SERVICE}/{name}/admin/v2/schemas/shop/orders/created/{path}"
        status, text = json.loads(cluster.kubectl("-n", operator.namespace, *program, url, bearer, ca, *body))
        return status, text

    upgrade(cluster, {"registry": {"enabled": True}})
    try:
        assert call("schema", bearer="wrong")[0] == 401
        assert call("schema")[0] == 404
        status, text = call("schema", json.dumps(_SCHEMA))
        assert (status, json.loads(text)["version"]["version"]) == (200, 0)
        status, text = call("schema/0")
        assert (status, json.loads(text)["properties"]) == (200, {"owner": "team-a"})
        (topic,) = cluster.get("-n", name, "topicschemas", "--show-managed-fields")["items"]
        assert topic["spec"]["topic"] == "persistent://shop/orders/created"
        assert {each["manager"] for each in topic["metadata"]["managedFields"]} >= {"topicschema-registry"}
    finally:
        upgrade(cluster, {})
        gone = ("pod", "-l", "app.kubernetes.io/name=topicschema-registry", "--for=delete", "--timeout=60s")
        cluster.kubectl("-n", operator.namespace, "wait", *gone, seconds=70)
        cluster.kubectl("delete", "schemaregistry", name)


def _namespaced(kind: str, name: str, namespace: str, content: dict[str, object]) -> dict[str, object]:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "topicschema.io/v1alpha1", "kind": kind, "metadata": metadata, **content}
