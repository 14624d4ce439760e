"""Backup and restore of the record on a real API server with the guards, and the CronJob of the examples."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from testbed import install
from testbed.cluster import Cluster
from testbed.product import NAMESPACE as SYSTEM
from topicschema.cluster.client import ApiClient
from topicschema.core.history import Owner
from topicschema.core.topics import Topic, TopicKey
from topicschema.storage.kubernetes.storage import KubernetesStorage
from topicschema.testing.storage_contract import append, text

KEYS = [TopicKey("pulsar", Topic("shop", "orders", name)) for name in ("saved", "other")]
EXAMPLE = Path(__file__).parents[2] / "manifests/examples/backup/cronjob.yaml"
CONTROLLER = f"system:serviceaccount:{SYSTEM}:topicschema-controller"


@pytest.fixture(scope="module")
def cleared(cluster: Cluster) -> Iterator[Cluster]:
    with install.without_record(cluster, SYSTEM):
        yield cluster


def command(cluster: Cluster, *arguments: str, kubeconfig: Path | None = None) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "KUBECONFIG": str(kubeconfig or cluster.kubeconfig)}
    return subprocess.run(
        [sys.executable, "-m", "topicschema", *arguments], env=environment, capture_output=True, text=True, check=False
    )


def record(cluster: Cluster) -> dict[str, Any]:
    listed = cluster.kubectl("get", "schemahistories,schemaversions,pulsarnamespaceclaims", "-n", SYSTEM, "-o", "json")
    return {each["metadata"]["name"]: each["spec"] for each in json.loads(listed)["items"]}


def written_files(folder: Path) -> list[Path]:
    return list(folder.glob("record-2*.jsonl"))


async def test_a_record_that_is_lost_is_restored_as_it_was(cleared: Cluster, client: ApiClient, tmp_path: Path) -> None:
    storage = KubernetesStorage(client, SYSTEM)
    for key in KEYS:
        await append(storage, key, text("one"))
        await append(storage, key, text("two", {"owner": "team-a"}))
    claim = await storage.get_claim(KEYS[0].namespace_key)
    await storage.put_claim(claim, Owner("shop", "orders", "uid-1"))
    before = record(cleared)
    assert len(before) == 7

    cleared.kubectl("apply", "-f", str(EXAMPLE))
    (job,) = [each for each in yaml.safe_load_all(EXAMPLE.read_text()) if each["kind"] == "CronJob"]
    pod = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    account = cleared.service_account_kubeconfig(SYSTEM, pod["serviceAccountName"], tmp_path / "kubeconfig")
    arguments = [each.replace("/backup", str(tmp_path)) for each in pod["containers"][0]["args"][1:]]
    done = command(cleared, "backup", *arguments, kubeconfig=account)
    assert done.returncode == 0, done.stderr
    (file,) = written_files(tmp_path)

    await append(storage, KEYS[1], text("three"))
    newer = record(cleared)
    done = command(cleared, "restore", str(file))
    assert done.returncode == 1
    assert "is newer than the backup" in done.stderr
    assert record(cleared) == newer

    part = tmp_path / "part"
    part.write_text("".join(file.read_text().splitlines(keepends=True)[1:]))
    done = command(cleared, "restore", str(part))
    assert done.returncode == 2
    assert "cut short or was changed" in done.stderr

    install.clear_record(cleared, SYSTEM)
    await append(storage, KEYS[0], text("one"))  # an older history, as after an interrupted restore
    with install.guards(cleared):
        for written in (6, 0):
            done = command(cleared, "restore", str(file))
            assert done.returncode == 0, done.stderr
            assert done.stdout.startswith(f"restored {written} of 7 objects"), done.stdout
    assert record(cleared) == before
    again = await KubernetesStorage(client, SYSTEM).get_history(KEYS[0])
    assert len(again.history.entries) == 2
