"""The webhook on a real API server, as its own process and service account, with real TLS; the controller is away."""

import json
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.kubernetes.admission import ID, NOTE, NOTE_WITH_DEFAULT, V0, record_schema
from support.kubernetes.reviewed_namespace import KubectlResult, Shop, open_shop
from testbed.cluster import Cluster
from testbed.product import Product

COMPATIBLE = record_schema(ID, NOTE_WITH_DEFAULT)
INCOMPATIBLE = record_schema(ID, NOTE)
TWICE = record_schema(ID, NOTE, {"name": "count", "type": "int"})
FINDING = "FIELD_WITHOUT_DEFAULT at $.fields[1]: field 'note' of the candidate is not in version 0"


@pytest.fixture
async def shop(webhook: Product, cluster: Cluster, namespace: str) -> AsyncIterator[Shop]:
    """Yield a namespace under BACKWARD whose topic `created` has a recorded version 0."""
    async with open_shop(cluster, namespace) as shop:
        await shop.govern(schemaCompatibilityStrategy="BACKWARD")
        await shop.register(V0)
        yield shop


async def test_create_and_update_are_allowed_when_they_pass(shop: Shop) -> None:
    for schema in (V0, COMPATIBLE):
        done = shop.apply(shop.topic_schema(schema))
        assert done.returncode == 0, done.stderr
    assert shop.schema_of() == COMPATIBLE


async def test_one_refused_object_shows_one_line_per_incompatibility_and_nothing_else(shop: Shop) -> None:
    done = shop.apply(shop.topic_schema(TWICE))
    assert done.returncode == 1
    first, *lines = done.stderr.strip().splitlines()
    assert first == 'The TopicSchema "created" is invalid: '
    assert [line.split(":")[1].strip() for line in lines] == [
        "FIELD_WITHOUT_DEFAULT at $.fields[1]",
        "FIELD_WITHOUT_DEFAULT at $.fields[2]",
    ]
    assert all("BACKWARD (set by policy orders)" in line and "version 0" in line for line in lines)


async def test_of_several_objects_each_refusal_is_a_complete_message(shop: Shop) -> None:
    await shop.register(V0, name="second")
    done = shop.apply(shop.topic_schema(TWICE), shop.topic_schema(INCOMPATIBLE, "second"))
    assert done.returncode == 1
    assert done.stderr.count("denied the request") == 2
    for words in (
        "TopicSchema 'created' is refused",
        "TopicSchema 'second' is refused",
        "$.fields[2]",
        "set by policy orders",
        "give it a default",
    ):
        assert words in done.stderr


async def test_every_way_of_editing_is_refused_alike_and_changes_nothing(shop: Shop) -> None:
    assert shop.run("create", objects=(shop.topic_schema(V0),)).returncode == 0
    refused = shop.topic_schema(INCOMPATIBLE)
    patch = json.dumps({"spec": {"schema": INCOMPATIBLE}})
    for done in (
        shop.run("apply", "--server-side", "--force-conflicts", objects=(refused,)),
        shop.run("apply", objects=(refused,)),
        shop.run("replace", objects=(refused,)),
        shop.run("patch", "tsc", "created", "--type=merge", "-p", patch),
        shop.run("apply", "--server-side", "--dry-run=server", "--force-conflicts", objects=(refused,)),
        shop.run("diff", "--server-side", "--force-conflicts", objects=(refused,)),
    ):
        assert done.returncode != 0
        assert FINDING in done.stderr
    assert shop.schema_of() == V0


async def test_kubectl_edit_comes_back_with_the_reasons_as_comments(shop: Shop, tmp_path: Path) -> None:
    assert shop.apply(shop.topic_schema('{"type":"record","name":"Order","fields":[]}', "fresh")).returncode == 0
    await shop.register('{"type":"record","name":"Order","fields":[]}', name="fresh")
    copy = tmp_path / "copy"
    editor = tmp_path / "editor"
    change = r"""s/"fields":\[\]/"fields":[{"name":"a","type":"int"}]/"""
    editor.write_text(f'#!/bin/sh\ncat "$1" >> {copy}\nsed -i \'{change}\' "$1"\n')
    editor.chmod(0o755)
    done = _edit(shop, editor)
    assert done.returncode != 0
    assert "# * spec.schema: FIELD_WITHOUT_DEFAULT at $.fields[0]" in copy.read_text()


def _edit(shop: Shop, editor: Path) -> KubectlResult:
    return subprocess.run(
        [shop.cluster.kubectl_program, "edit", "-n", shop.namespace, "tsc", "fresh"],
        env={**shop.cluster.environment(), "KUBE_EDITOR": str(editor)},
        capture_output=True,
        check=False,
        text=True,
        timeout=60,
    )


async def test_warnings_are_shown_and_do_not_stop_an_edit(shop: Shop) -> None:
    await shop.register(COMPATIBLE)
    done = shop.apply(shop.topic_schema(V0))
    assert done.returncode == 0
    assert "Warning: this is version 0 again: no version is added, and version 1 stays" in done.stderr


async def test_policy_and_topic_may_come_in_one_file(webhook: Product, cluster: Cluster, namespace: str) -> None:
    async with open_shop(cluster, namespace) as shop:
        shop.allow_claims()
        done = shop.apply(shop.policy(), shop.topic_schema(V0))
        assert done.returncode == 0, done.stderr
        assert "has not claimed" in done.stderr


async def test_a_deletion_needs_no_webhook_and_an_edit_does(shop: Shop, webhook: Product) -> None:
    assert shop.apply(shop.topic_schema(V0)).returncode == 0
    webhook.webhook.kill()
    try:
        done = shop.apply(shop.topic_schema(COMPATIBLE))
        assert done.returncode == 1
        assert "failed calling webhook" in done.stderr
        assert shop.schema_of() == V0
        assert shop.run("delete", "tsc", "created").returncode == 0
    finally:
        webhook.start_webhook()
    assert FINDING in shop.apply(shop.topic_schema(INCOMPATIBLE)).stderr
    assert shop.apply(shop.topic_schema(COMPATIBLE)).returncode == 0
