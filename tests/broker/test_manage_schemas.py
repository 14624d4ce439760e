"""The commands of docs/manage-schemas.md, run from top to bottom with a real broker."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.pulsar.brokered_namespace import BrokeredShop
from support.pulsar.rest_topic import RestTopic
from testbed import packages
from testbed.paths import REPOSITORY

pytestmark = [pytest.mark.timeout(180), pytest.mark.broker]

PAGE = (REPOSITORY / "docs" / "manage-schemas.md").read_text()
BLOCK = re.compile(r"^```(sh|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
SETTINGS = {
    "schemaCompatibilityStrategy": "BACKWARD",
    "isAllowAutoUpdateSchema": False,
    "schemaValidationEnforced": False,
}


class Reader:
    """A reader of the page, in a folder and with a context of her own."""

    def __init__(self, shop: BrokeredShop, folder: Path) -> None:
        cluster, self._namespace, self._folder = shop.watched.shop.cluster, shop.watched.namespace, folder
        kubeconfig, programs = folder / "kubeconfig", cluster.environment()
        kubeconfig.write_text(cluster.kubeconfig.read_text())
        self._environment = {
            **programs,
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), programs["PATH"]]),
            "KUBECONFIG": str(kubeconfig),
            "BROKER": shop.pulsar.admin_url,
            "NO_PROXY": "127.0.0.1",
        }
        self.run(f"kubectl config set-context --current --namespace={self._namespace}")

    def read(self, page: str) -> None:
        """Run the blocks of the page."""
        page = re.sub(r"shop/orders\b(?!-)", f"shop/{self._namespace}", page)
        page = page.replace("shop/orders-created", f"{self._namespace}/orders-created")
        for language, block in BLOCK.findall(page):
            if language == "sh":
                self.run(block)
            else:
                command, _, output = block.removeprefix("$ ").partition("\n")
                assert self.run(command) == output

    def run(self, script: str) -> str:
        done = subprocess.run(
            ["/bin/bash", "-euo", "pipefail", "-c", script.replace("kubectl wait", "kubectl wait --timeout=120s")],
            cwd=self._folder,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
        return done.stdout


async def test_every_command_of_the_page_has_its_documented_result(shop: BrokeredShop, tmp_path: Path) -> None:
    if lacking := packages.missing(packages.SHELL):
        pytest.skip(f"the page's programs are not all here: {packages.install(lacking)}")
    shop.govern()
    await shop.policy_ready("Active")
    reader, topic = Reader(shop, tmp_path), RestTopic(shop.pulsar, shop.pulsar_namespace, "created")
    settings, _, others = PAGE.partition("## Schema manual management")
    reader.read(settings)
    assert shop.broker_settings() == SETTINGS
    management, _, deletion = others.partition("### Delete a schema")
    reader.read(management)
    assert topic.versions() == [0, 1]
    reader.read(deletion)
    assert topic.versions() == []
