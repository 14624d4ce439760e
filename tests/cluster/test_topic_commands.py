"""`get`, `history`, `diff` and `why` on a real cluster, as administrator and with a tenant's rights."""

import asyncio
import json
import os
import ssl
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from aiohttp import web

from support.http_server import serve
from support.kubernetes.command_user import CommandUser
from support.kubernetes.watched_namespace import WatchedShop, text
from testbed.certificates import Authority

pytestmark = pytest.mark.timeout(180)

V0, V1, V2 = text("id"), text("id", "note?"), text("note?")
PROTO = 'syntax = "proto3"; package shop; message Order { string id = 1; }'
BROKEN = text("note?", "count")
PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")


@pytest.fixture
async def shop_with_versions(shop: WatchedShop) -> WatchedShop:
    """Return a shop whose topic has three versions, of which the last breaks consumers with earlier ones."""
    shop.govern(schemaCompatibilityStrategy="BACKWARD")
    for each in (V0, V1, V2):
        shop.put(each)
        await shop.ready("Registered")
    return shop


@pytest.fixture
def admin(shop_with_versions: WatchedShop) -> CommandUser:
    return CommandUser(shop_with_versions.shop.cluster.kubeconfig, shop_with_versions.namespace)


@pytest.fixture
def tenant(shop_with_versions: WatchedShop, tmp_path: Path) -> CommandUser:
    return CommandUser.tenant(shop_with_versions.shop.cluster, shop_with_versions.namespace, tmp_path)


async def test_the_administrator_reads_each_version_and_what_changed(
    shop_with_versions: WatchedShop, admin: CommandUser
) -> None:
    topic = f"persistent://{shop_with_versions.shop.pulsar_namespace}/created"
    for number, schema in enumerate((V0, V1, V2)):
        assert admin.run(f"get created --version {number} -o text").stdout == f"{schema}\n"
    for name in (
        topic.removeprefix("persistent://"),
        f"non-{topic}",
        "tsc/created",
        "topicschema.topicschema.io/created",
    ):
        assert admin.json(f"get {name}") == admin.json("get created")
        assert admin.run(f"get {name} -o name").stdout == "topicschema.topicschema.io/created\n"
    assert admin.run(f"why {topic} -n default").stdout.startswith(f"{admin.namespace}/created is Ready")
    latest = yaml.safe_load(admin.run(f"get {topic}").stdout)
    assert (latest["schemaVersion"], latest["schema"], latest["type"]) == (2, V2, "AVRO")
    assert latest == admin.json("get created")

    history = admin.json("history created")
    assert [each["schemaVersion"] for each in history["versions"]] == [0, 1, 2]
    assert (history["schemaVersion"], history["latestSchemaVersion"]) == (2, 2)
    assert admin.run("history created").stdout.splitlines()[-1].endswith("spec, latest")
    assert admin.run("history created -o name").stdout == "topicschema.topicschema.io/created\n"

    added = admin.json("diff created 0 1")
    assert [(each["path"], each["change"], each["name"]) for each in added["changes"]] == [
        ("$.fields[1]", "added", "note")
    ]
    assert (added["incompatibilities"], added["isAccepted"]) == ([], True)
    removed = admin.json("diff created", code=1)
    assert (removed["earlier"], removed["later"], removed["isAccepted"]) == (1, 2, True)
    assert [each["direction"] for each in removed["incompatibilities"]] == ["FORWARD"]
    shown = admin.run("diff created").stdout
    assert shown.replace(shop_with_versions.namespace, "shop") in PAGE, shown


async def test_versions_that_were_deleted_are_not_promised(shop_with_versions: WatchedShop, admin: CommandUser) -> None:
    shop_with_versions.put(V2, deletionPolicy="Delete")
    await shop_with_versions.ready("Registered")
    shop_with_versions.delete("tsc/created")
    topic = f"persistent://{shop_with_versions.shop.pulsar_namespace}/created"
    errors = dict.fromkeys(
        ("get", "history", "diff"), "were deleted with its TopicSchema: a new TopicSchema of the topic begins"
    )
    for command, words in {**errors, "why": "has no version and no TopicSchema"}.items():
        done = admin.run(f"{command} {topic}")
        assert (done.returncode, words in done.stderr) == (1, True), done.stderr


async def test_an_absent_topic_or_version_is_an_error_with_a_remedy(admin: CommandUser) -> None:
    for command, words in {
        "get other": "list all with kubectl get topicschemas",
        "get persistent://shop/orders/other": "there is no TopicSchema of persistent://shop/orders/other",
        "get created --version 7": "it has the versions 0 to 2",
        "diff created 0 7": "has no version 7",
    }.items():
        done = admin.run(command)
        assert (done.returncode, done.stdout, words in done.stderr) == (1, "", True), done.stderr


async def test_retained_versions_of_a_deleted_resource_are_readable(
    shop_with_versions: WatchedShop, admin: CommandUser
) -> None:
    shop_with_versions.delete("tsc/created")
    topic = f"persistent://{shop_with_versions.shop.pulsar_namespace}/created"
    assert admin.run(f"get {topic} --version 1 -o text").stdout == f"{V1}\n"
    assert len(admin.json(f"history {topic}")["versions"]) == 3
    done = admin.run(f"why {topic}")
    assert (done.returncode, "nothing manages it" in done.stderr) == (1, True)


async def test_a_tenant_reads_her_own_topic_alone(tenant: CommandUser) -> None:
    done = tenant.run("get created -o text")
    assert (done.returncode, done.stdout) == (0, f"{V2}\n"), done.stderr
    assert "the text of the spec" in done.stderr
    assert [each["schemaVersion"] for each in tenant.json("history created")["versions"]] == [0, 1, 2]
    assert tenant.run("why created").returncode == 0
    refused = tenant.run("get created --version 0")
    assert (refused.returncode, "--registry-url" in refused.stderr) == (1, True)
    for url in ("registry:8080", "ftp://registry", "http://user:secret@registry", "http://[::1"):
        done = tenant.run(f"get created --version 0 --registry-url {url}")
        assert (done.returncode, "write http://HOST:PORT" in done.stderr) == (2, True), done.stderr
        assert "secret" not in done.stderr
    for command in ("get created -n default", "history persistent://bank/accounts/created -n default"):
        done = tenant.run(command)
        assert (done.returncode, done.stdout, "is forbidden" in done.stderr) == (3, "", True), done.stderr


async def test_a_schema_of_every_kind_is_the_same_for_both(
    shop_with_versions: WatchedShop, admin: CommandUser, tenant: CommandUser
) -> None:
    pair = {"encoding": "SEPARATED", "key": {"type": "STRING"}, "value": {"type": "AVRO", "schema": V0}}
    sources = {"message": "shop.Order", "files": {"order.proto": PROTO}}
    shop_with_versions.put("", "pair", type="KEY_VALUE", keyValue=pair)
    shop_with_versions.put("", "sources", type="PROTOBUF_NATIVE", protobuf=sources)
    shop_with_versions.put("", "text", type="STRING", properties={"owner": "team-a"})
    for name in ("pair", "sources", "text"):
        await shop_with_versions.ready("Registered", name)
        assert admin.json(f"get {name}") == tenant.json(f"get {name}")
    assert json.loads(admin.run("get pair -o text").stdout) == {"key": "", "value": json.loads(V0)}
    assert admin.json("get text")["properties"] == {"owner": "team-a"}


async def test_the_token_is_sent_over_tls_and_a_text_of_another_schema_is_refused(
    tenant: CommandUser, tmp_path: Path
) -> None:
    issued = Authority.at(tmp_path / "pki").issue("registry", ["127.0.0.1"])
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(issued.certificate, issued.key)
    user = CommandUser(tmp_path / "kubeconfig", tenant.namespace, SSL_CERT_FILE=str(issued.ca))
    (tmp_path / "token").write_text("secret\n")
    own = json.loads((tmp_path / "kubeconfig").read_text())["users"][0]["user"]["token"]
    tokens = list[str | None]()

    async def answer(request: web.Request) -> web.Response:
        tokens.append(request.headers.get("Authorization"))
        return web.json_response({"version": 0, "type": "AVRO", "timestamp": 0, "data": V0, "properties": {}})

    async with serve(answer) as plain, serve(answer, tls) as url:
        line = "get created -o text --version"
        for command in (
            f"{line} 0 --registry-url {url}",
            f"{line} 0 --registry-url {plain}",
            f"{line} 0 --registry-url {plain} --token-file {tmp_path}/token",
        ):
            done = await asyncio.to_thread(user.run, command)
            assert (done.returncode, done.stdout) == (0, f"{V0}\n"), done.stderr
        refused = await asyncio.to_thread(user.run, f"{line} 1 --registry-url {url}")
        untrusted = await asyncio.to_thread(tenant.run, f"{line} 0 --registry-url {url}")
    assert tokens[:3] == [f"Bearer {own}", None, "Bearer secret"]
    assert (refused.returncode, refused.stdout, "the topic's registry?" in refused.stderr) == (1, "", True)
    assert (untrusted.returncode, "certificate verify failed" in untrusted.stderr) == (3, True), untrusted.stderr


async def test_no_token_is_printed_and_a_server_that_is_elsewhere_is_named(tenant: CommandUser, tmp_path: Path) -> None:
    async def redirect(_: web.Request) -> web.Response:
        return web.Response(status=307, headers={"Location": "http://broker-2:8080/\x9b31m"})

    async with serve(redirect) as url:
        moved = await asyncio.to_thread(tenant.run, f"get created --version 0 --registry-url {url}")
    assert (moved.returncode, "it redirects to http://broker-2:8080/" in moved.stderr) == (3, True), moved.stderr
    (tmp_path / "token").write_text("two\nlines\n")
    line = "get created --version 0 --registry-url http://127.0.0.1:9"
    refused = await asyncio.to_thread(tenant.run, f"{line} --token-file {tmp_path}/token")
    config = json.loads((tmp_path / "kubeconfig").read_text())
    errors = list[str]()
    for token in ("two\nlines", "expired", None):
        config["users"][0]["user"]["token"] = token
        (tmp_path / "other").write_text(json.dumps(config) if token else "no: [")
        done = await asyncio.to_thread(CommandUser(tmp_path / "other", tenant.namespace).run, "get created")
        errors.append(done.stderr)
    for error in (refused.stderr, errors[0]):
        assert "a token must be one line" in error
        assert "two" not in error
    assert "have expired: log in again" in errors[1]
    assert errors[2].startswith("topicschema get: no cluster: ")


def test_kubectl_has_the_commands_as_a_plug_in(shop_with_versions: WatchedShop, admin: CommandUser) -> None:
    cluster, command = shop_with_versions.shop.cluster, f"topicschema history created -n {shop_with_versions.namespace}"
    folder = Path(sys.executable).parent
    environment = {**cluster.environment(), "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    line = [cluster.kubectl_program, *command.split()]
    done = subprocess.run(line, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == admin.run("history created").stdout, done.stderr


async def test_why_has_the_cause_and_the_remedy(shop_with_versions: WatchedShop, tenant: CommandUser) -> None:
    shop_with_versions.put(BROKEN)
    await shop_with_versions.ready("Incompatible")
    done = tenant.run("why created")
    assert done.returncode == 1
    assert f"{shop_with_versions.namespace}/created is not Ready: Incompatible" in done.stdout
    assert "FIELD_WITHOUT_DEFAULT at $.fields[1]" in done.stdout
    assert "To do: The schema was stored without the webhook" in done.stdout
    assert len(done.stdout.splitlines()) <= 24
    answer = tenant.json("why created", code=1)
    assert answer["causes"][0]["reason"] == "Incompatible"
    assert answer["incompatibilities"][0]["rule"] == "FIELD_WITHOUT_DEFAULT"
    shop_with_versions.put(V2, suspend=True)
    await shop_with_versions.ready("Suspended")
    assert "Suspended" in tenant.run("why created").stdout
