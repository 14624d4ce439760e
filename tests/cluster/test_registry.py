"""The registry with controller and webhook: Pulsar's REST API of schemas, served from the store."""

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from broker.conversations import answers
from broker.conversations.script import Conversation, conversations
from support import sizes
from support.kubernetes.command_user import CommandUser
from support.kubernetes.registry_process import RegistryClient, Response, run_registry
from support.kubernetes.watched_namespace import WatchedShop, text, watch_shop
from support.validation.validated_namespace import ENVIRONMENT, GATE, ValidatedShop
from testbed import install, maven, pulsar_admin
from testbed.cluster import Cluster
from testbed.instances import Instance
from testbed.product import PATIENT_LEASE, Product
from topicschema.api.kinds import TOPIC_SCHEMA
from topicschema.core.strategies import Strategy

pytestmark = pytest.mark.timeout(300)

PAGE = Path(__file__).parents[2] / "docs" / "registry-rest.md"
JAVA = Path(__file__).parents[1] / "broker" / "admin" / "SchemaTour.java"
STRICTER = ("text 3 of JSON", "text 18 of JSON")
"""The operator refuses JSON Schemas, which a broker of Pulsar 4.0 takes (docs/decisions/0003)."""
DIFFERENT = {("invalid default second", 2), ("missing namespaces", 6)}
"""Answers that differ, with their reasons in docs/registry-rest.md: an invalid default, and a tenant's absence."""
CLIENTS = 32


@pytest.fixture(scope="module")
def product(cluster: Cluster, instance: Instance) -> Iterator[Product]:
    """Yield controller and webhook; the controller has an image to validate with."""
    with Product.working(instance, cluster, {**PATIENT_LEASE, **ENVIRONMENT}) as product:
        yield product


@pytest.fixture(scope="module")
def admin(product: Product) -> Iterator[RegistryClient]:
    """Yield a client of the registry that may do all."""
    with run_registry(product) as client:
        yield client


@pytest.fixture
async def shop(product: Product, cluster: Cluster, namespace: str) -> AsyncIterator[WatchedShop]:
    """Yield a namespace with a policy."""
    async with watch_shop(cluster, namespace) as shop:
        shop.govern()
        await shop.policy_ready("Active")
        yield shop


def path(shop: WatchedShop, call: str, topic: str = "created") -> str:
    return f"/{shop.namespace}/admin/v2/schemas/{shop.shop.pulsar_namespace}/{topic}/{call}"


def setting(shop: WatchedShop, name: str = "schemaCompatibilityStrategy") -> str:
    return f"/{shop.namespace}/admin/v2/namespaces/{shop.shop.pulsar_namespace}/{name}"


def payload(schema: str, kind: str = "AVRO") -> dict[str, object]:
    return {"type": kind, "schema": schema, "properties": {}}


def post(client: RegistryClient, shop: WatchedShop, schema: str, topic: str = "created") -> Response:
    return client.request("POST", path(shop, "schema", quote(quote(topic))), payload(schema))


async def in_threads(count: int, *calls: Any) -> list[Any]:
    """Return the results of the calls, which run in `count` threads."""
    with ThreadPoolExecutor(count) as pool:
        return await asyncio.gather(*(asyncio.get_running_loop().run_in_executor(pool, *call) for call in calls))


async def test_it_answers_as_a_broker(
    admin: RegistryClient, product: Product, cluster: Cluster, namespace: str
) -> None:
    every = [(at, each) for at, each in enumerate(conversations()) if each.name not in STRICTER]
    chosen = every[:: sizes.sized(5, 1)]
    strategies = {each.strategy: each.strategy.lower().replace("_", "-") for _, each in chosen}
    async with watch_shop(cluster, namespace) as shop:
        shop.shop.apply_registry()
        for strategy, name in strategies.items():
            spec = {} if strategy is Strategy.UNDEFINED else {"schemaCompatibilityStrategy": strategy}
            shop.apply(shop.shop.policy(name, pulsarNamespace=f"shop/{namespace}-{name}", **spec))
        for name in strategies.values():
            await shop.policy_ready("Active", name)

        def converse(position: int, conversation: Conversation) -> list[answers.Answer]:
            def send(method: str, path: str, body: bytes | None, headers: dict[str, str]) -> tuple[int, str]:
                response = admin.request(method, f"/{namespace}/admin/v2{path}", body, headers)
                return response.status, response.text

            pulsar_namespace = f"shop/{namespace}-{strategies[conversation.strategy]}"
            return answers.converse(conversation, pulsar_namespace, f"x{position}", send)

        results = await in_threads(8, *((converse, *each) for each in chosen))
    recorded = answers.recorded()
    differences = [
        (each.name, at, each.requests[at], expected, current)
        for (_, each), result in zip(chosen, results, strict=True)
        for at, (expected, current) in enumerate(zip(recorded[each.name], result, strict=True))
        if expected != current and (each.name, at) not in DIFFERENT
    ]
    assert differences == []


async def test_equal_schemas_of_many_clients_are_one_version(admin: RegistryClient, shop: WatchedShop) -> None:
    responses = await in_threads(8, *[(post, admin, shop, text("a"))] * 8)
    assert {(each.status, each.text) for each in responses} == {(200, '{"version": {"version": 0}}')}


@pytest.mark.parametrize("count", [64, pytest.param(1_000, marks=pytest.mark.full)])
async def test_no_upload_is_lost_or_twice(admin: RegistryClient, shop: WatchedShop, count: int) -> None:
    schemas = [(f"t{at % (count // 8)}", text("a", f"b{at // (count // 8)}?")) for at in range(count)]
    responses = await in_threads(CLIENTS, *((post, admin, shop, schema, topic) for topic, schema in schemas))
    assert Counter(each.status for each in responses) == {200: count}
    versions = {topic: admin.request("GET", path(shop, "schemas", topic)).json for topic in dict(schemas)}
    stored = {
        (topic, each["version"], each["data"])
        for topic, listed in versions.items()
        for each in listed["getSchemaResponses"]
    }
    answered = {
        (topic, response.json["version"]["version"], schema)
        for (topic, schema), response in zip(schemas, responses, strict=True)
    }
    assert stored == answered
    assert len(stored) == count


async def test_two_replicas_lose_no_upload_to_one_topic(
    admin: RegistryClient, product: Product, shop: WatchedShop
) -> None:
    schemas = [text("a", f"b{number}?") for number in range(12)]
    with run_registry(product, name="replica") as replica:
        clients = (admin, replica)
        calls = ((post, clients[at % 2], shop, schema) for at, schema in enumerate(schemas))
        responses = await in_threads(len(schemas), *calls)
    assert sorted(each.json["version"]["version"] for each in responses) == list(range(len(schemas)))


async def test_two_incompatible_schemas_are_one_version_and_one_refusal(
    admin: RegistryClient, shop: WatchedShop
) -> None:
    responses = await in_threads(2, (post, admin, shop, text("a")), (post, admin, shop, text("b")))
    assert sorted(each.status for each in responses) == [200, 409]


async def test_what_git_manages_is_refused_with_manager_and_fields(admin: RegistryClient, shop: WatchedShop) -> None:
    shop.put(text("a"))
    await shop.ready("Registered")
    assert post(admin, shop, text("a")).json == {"version": {"version": 0}}
    refused = post(admin, shop, text("a", "b?"))
    assert refused.status == 409
    assert "kubectl (spec.schema, spec.type)" in refused.json["message"]
    assert admin.request("DELETE", path(shop, "schema")).status == 409
    shop.govern(schemaCompatibilityStrategy="FULL")
    refused = admin.request("PUT", setting(shop), "BACKWARD")
    assert refused.status == 409
    assert "kubectl (spec.schemaCompatibilityStrategy)" in refused.json["message"]


async def test_an_upload_continues_what_the_registry_registered(admin: RegistryClient, shop: WatchedShop) -> None:
    assert post(admin, shop, text("a"), "Ünï\U0001f600.x").status == 200
    topic = f"persistent://shop/{shop.namespace}/Ünï\U0001f600.x"
    listed = (await shop.shop.client.list(TOPIC_SCHEMA, shop.namespace))[0]
    assert listed["spec"] == {"topic": topic, "type": "AVRO", "schema": text("a")}
    assert {each["manager"] for each in listed["metadata"]["managedFields"] if "subresource" not in each} == {
        "topicschema-registry"
    }


async def test_constraints_of_the_policy_and_admission_refuse(admin: RegistryClient, shop: WatchedShop) -> None:
    shop.govern(constraints={"allowedTypes": ["JSON"], "allowedDeletionPolicies": []})
    refused = post(admin, shop, text("a"))
    assert refused.status == 422
    assert "TYPE_NOT_ALLOWED" in refused.json["message"]
    refused = admin.request("DELETE", path(shop, "schema"))
    assert refused.status == 403
    assert "allowedDeletionPolicies" in refused.json["reason"]
    spaced = admin.request("POST", path(shop, "schema", "a%2520b"), payload(text("a"), "JSON"))
    assert spaced.status == 422
    assert "spec.topic" in spaced.json["message"]


async def test_a_gate_answers_with_the_command_for_its_progress(admin: RegistryClient, shop: WatchedShop) -> None:
    ValidatedShop(shop).govern(GATE)
    await shop.policy_ready("Active")
    pending = post(admin, shop, text("a"))
    assert pending.status == 202
    assert f"-n {shop.namespace}" in pending.json["reason"]
    assert admin.request("GET", path(shop, "schema")).status == 404


async def test_a_deletion_is_allowed_under_the_guards(
    admin: RegistryClient, shop: WatchedShop, cluster: Cluster
) -> None:
    assert post(admin, shop, text("a")).status == 200
    with install.guards(cluster):
        assert admin.request("DELETE", path(shop, "schema")).json == {"version": 1}
    assert post(admin, shop, text("b")).json == {"version": {"version": 2}}


RIGHTS = {
    ("GET", "schema"): "view edit admin",
    ("GET", "schema/0"): "view edit admin",
    ("GET", "schemas"): "view edit admin",
    ("GET", "metadata"): "view edit admin",
    ("POST", "version"): "view edit admin",
    ("POST", "compatibility"): "view edit admin",
    ("POST", "schema"): "edit admin",
    ("DELETE", "schema"): "edit admin",
    ("GET", "setting"): "view edit admin policy",
    ("PUT", "setting"): "policy",
}
"""The roles that may make a call: the table of docs/registry-rest.md."""


def accounts(namespace: str, roles: Mapping[str, str | None]) -> list[dict[str, Any]]:
    """Return service accounts, and bindings of those with a role."""
    group, objects = "rbac.authorization.k8s.io", list[dict[str, Any]]()
    for name, role in roles.items():
        metadata = {"name": name, "namespace": namespace}
        objects += [{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}]
        if role is not None:
            bound: dict[str, Any] = {"roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role}}
            bound |= {"subjects": [{"kind": "ServiceAccount", **metadata}], "metadata": metadata}
            objects += [{"apiVersion": f"{group}/v1", "kind": "RoleBinding", **bound}]
    return objects


async def test_only_those_with_the_right_may(admin: RegistryClient, shop: WatchedShop, cluster: Cluster) -> None:
    roles = {"none": None, "view": "view", "edit": "edit", "admin": "admin", "policy": "topicschema-policy-admin"}
    cluster.kubectl("apply", "--server-side", "-f", "-", stdin=install.as_list(accounts(shop.namespace, roles)))
    assert post(admin, shop, text("a")).status == 200
    results = {}
    for name in roles:
        client = admin.as_account(shop.namespace, name)
        for method, call in RIGHTS:
            where = setting(shop) if call == "setting" else path(shop, call)
            body = "FULL" if call == "setting" else payload(text("a"))
            response = client.request(method, where, None if method in ("GET", "DELETE") else body)
            results[name, method, call] = response.status
            assert response.status != 403 or f"{shop.namespace}:{name} may not" in response.json["reason"]
            if (method, response.status) == ("DELETE", 200):
                assert post(admin, shop, text("a")).status == 200
    allowed = {(name, *call) for call, names in RIGHTS.items() for name in names.split()}
    assert {key for key, status in results.items() if status != 403} == allowed
    anonymous = RegistryClient(cluster, admin.url, admin.ca, "")
    for client in (anonymous, RegistryClient(cluster, admin.url, admin.ca, "wrong")):
        for where in (path(shop, "schema"), "/openapi.json", "/", "/nope"):
            response = client.request("GET", where)
            assert (response.status, response.headers["WWW-Authenticate"]) == (401, "Bearer")


async def test_the_default_registry_needs_no_prefix(admin: RegistryClient, shop: WatchedShop) -> None:
    post(admin, shop, text("a"))
    plain = path(shop, "schema").removeprefix(f"/{shop.namespace}")
    annotation = {"metadata": {"annotations": {"topicschema.io/is-default-registry": "true"}}}
    shop.shop.api.merge("schemaregistries", "", shop.namespace, annotation)
    try:
        for _ in range(50):
            response = admin.request("GET", plain)
            if response.status == 200:
                break
            await asyncio.sleep(0.2)  # registries are cached for seconds
        assert response.json["version"] == 0
    finally:
        annotation["metadata"]["annotations"] = dict.fromkeys(annotation["metadata"]["annotations"])
        shop.shop.api.merge("schemaregistries", "", shop.namespace, annotation)
    assert admin.request("GET", path(shop, "schema").replace(f"/{shop.namespace}/admin", "/nope/admin")).status == 404


async def test_the_document_names_every_call(admin: RegistryClient) -> None:
    document = admin.request("GET", "/openapi.json").json
    calls = {(method, each) for each, methods in document["paths"].items() for method in methods}
    assert len(calls) == len(RIGHTS) - 2 + 6


async def test_the_commands_of_the_page(
    admin: RegistryClient, shop: WatchedShop, cluster: Cluster, tmp_path: Path
) -> None:
    objects = accounts(shop.namespace, {"app": "edit"})
    cluster.kubectl("apply", "--server-side", "-f", "-", stdin=install.as_list(objects))
    (script,) = re.findall(r"```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    for name, own in {
        "localhost:8443/prod": f"{admin.url.removeprefix('https://')}/{shop.namespace}",
        "namespace shop": f"namespace {shop.namespace}",
        "shop/orders": shop.shop.pulsar_namespace,
        "ca.crt": str(admin.ca),
    }.items():
        assert name in script
        script = script.replace(name, own)
    commands = script.replace("\ncall ", "\necho; call ")
    bash = await asyncio.create_subprocess_exec(
        "bash", "-e", "-c", commands, env=cluster.environment() | {"no_proxy": "*"}, cwd=tmp_path,
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    output, _ = await bash.communicate()
    lines = [json.loads(line) for line in output.decode().strip().splitlines()]
    assert lines[0] == {"version": {"version": 0}}
    assert lines[1] == lines[2] == lines[3]["getSchemaResponses"][0]
    assert lines[4:] == [{"version": -1}, "UNDEFINED", {"version": 1}]


async def test_a_tenants_commands_read_earlier_texts(
    admin: RegistryClient, shop: WatchedShop, cluster: Cluster, tmp_path: Path
) -> None:
    for schema in (text("a"), text("a", "b?")):
        assert post(admin, shop, schema).status == 200
    tenant = CommandUser.tenant(cluster, shop.namespace, tmp_path)
    topic = f"persistent://{shop.shop.pulsar_namespace}/created"
    command = f"get {topic} --version 0 -o text --registry-url {admin.url}/{shop.namespace}"
    done = await asyncio.to_thread(
        CommandUser(tmp_path / "kubeconfig", shop.namespace, SSL_CERT_FILE=str(admin.ca)).run, command
    )
    assert done.stdout.strip() == text("a"), done.stderr
    assert "--registry-url" in (await asyncio.to_thread(tenant.run, f"get {topic} --version 0 -o text")).stderr


async def test_pulsar_admin(admin: RegistryClient, shop: WatchedShop, tmp_path: Path) -> None:
    reason = maven.why_absent()
    if reason is not None:
        pytest.skip(f"no Java client: {reason}")
    program = pulsar_admin.install(tmp_path, f"{admin.url}/{shop.namespace}", admin.token, admin.ca)
    topic = f"persistent://{shop.shop.pulsar_namespace}/tour"
    for name, schema in {"one": text("a"), "two": text("a", "b?"), "wrong": text("c")}.items():
        (tmp_path / name).write_text(json.dumps(payload(schema)))

    async def run(command: str, status: int = 0) -> str:
        words = [*command.split(), topic]
        process = await asyncio.create_subprocess_exec(
            program, "schemas", *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
        output, _ = await process.communicate()
        assert process.returncode == status, output
        return output.decode()

    for name in ("one", "two"):
        await run(f"upload -f {tmp_path / name}")
    commands = ("get -v 0", "get -a", "metadata", f"compatibility -f {tmp_path / 'one'}")
    refusal = run(f"upload -f {tmp_path / 'wrong'}", 1)
    refused, first, every, metadata, _ = await asyncio.gather(refusal, *map(run, commands))
    assert "HTTP 409" in refused
    assert json.loads(first)["schema"] == json.loads(text("a"))
    assert every.count('"AVRO"') == 2
    assert json.loads(metadata)["info"]["version"] == 1
    await run("delete")
    assert admin.request("GET", path(shop, "schema", "tour")).status == 404
    jar = next(maven.jars(pulsar_admin.POM).glob("pulsar-client-admin-api-*.jar"))
    await run(f"extract -j {jar} -c org.apache.pulsar.common.policies.data.RetentionPolicies -t json")
    assert admin.request("GET", path(shop, "schema", "tour")).json["type"] == "JSON"


async def test_javas_admin_client(admin: RegistryClient, shop: WatchedShop) -> None:
    reason = maven.why_absent()
    if reason is not None:
        pytest.skip(f"no Java client: {reason}")
    topic = f"persistent://{shop.shop.pulsar_namespace}/tour"
    output = maven.run_java(JAVA, f"{admin.url}/{shop.namespace}", admin.token, str(admin.ca), topic)
    results = [json.loads(line) for line in output.splitlines()]
    assert results == [True, {"owner": "a"}, 1, True, 2, True, 0, 409, 404, "BACKWARD", False, True]
