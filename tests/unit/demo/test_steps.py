"""The steps after a failure. The cluster tier tests their success."""

import io
from pathlib import Path

import pytest

from demo.errors import DemoError
from demo.narrator import Narrator
from demo.stage import Stage
from demo.steps import without_webhook
from testbed.cluster import Cluster


def test_the_webhook_is_restored_if_the_step_without_it_fails(tmp_path: Path) -> None:
    kubectl = tmp_path / "kubectl"
    kubectl.write_text(f'#!/bin/sh\necho "$*" >> {tmp_path}/commands\n')
    kubectl.chmod(0o755)
    stage = Stage(Narrator(io.StringIO()), Cluster(tmp_path / "kubeconfig", kubectl), tmp_path)
    with pytest.raises(DemoError, match="it does not hold"), without_webhook(stage):
        stage.claim("this step goes well", holds=False)
    assert (tmp_path / "commands").read_text().splitlines() == [
        "delete validatingwebhookconfiguration topicschema",
        "apply --server-side -f webhook-configuration.json",
    ]
