"""Texts for a tenant who may not read the operator's record, by the REST API of a real broker."""

from pathlib import Path

import pytest

from support.command_line import run
from support.kubernetes.command_user import CommandUser
from support.pulsar.brokered_namespace import BrokeredShop
from support.pulsar.brokered_topic import ONE, TWO, BrokeredTopic

pytestmark = [pytest.mark.timeout(180), pytest.mark.broker]


async def test_a_tenant_reads_and_compares_all_versions_by_the_rest_api(shop: BrokeredShop, tmp_path: Path) -> None:
    topic = BrokeredTopic(shop)
    await topic.govern(schemaCompatibilityStrategy="FULL")
    for each in (ONE, TWO):
        topic.put(each, properties={"owner": "team-a"})
        await topic.ready()
    tenant = CommandUser.tenant(shop.watched.shop.cluster, shop.watched.namespace, tmp_path)
    by_rest = f"--registry-url {shop.pulsar.admin_url}"
    first = tenant.json(f"get created --version 0 {by_rest}")
    assert (first["schema"], first["properties"], first["type"]) == (ONE, {"owner": "team-a"}, "AVRO")
    (tmp_path / "v0.json").write_text(tenant.run(f"get created --version 0 -o json {by_rest}").stdout)
    (tmp_path / "v1.avsc").write_text(TWO)
    assert run(tmp_path, "check", "--strategy", "FULL", "--history", "v0.json", "v1.avsc").returncode == 0
    assert [each["name"] for each in tenant.json(f"diff created 0 1 {by_rest}")["changes"]] == ["note"]

    for command in ("get created --version 1 --registry-url http://127.0.0.1:1", f"get created --version 2 {by_rest}"):
        done = tenant.run(command)
        assert (done.returncode in {1, 3}, done.stdout) == (True, ""), done.stderr
