"""`check --git` beside webhook and controller: for each commit the verdict on each resource is the cluster's.

A repository has a policy and ten topics. Each of thirty commits is checked against the history before it, and then
applied, as a GitOps tool does it; what was accepted is registered before the next commit. That takes a minute or two.
"""

import json
import random
from collections import Counter
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from support import command_line
from support.kubernetes.plain_api import RefusedError
from support.kubernetes.reviewed_namespace import Shop
from support.kubernetes.watched_namespace import WatchedShop, conditions, wait_for, watch_shop
from support.manifest_repository import Repository, fields
from testbed.cluster import Cluster
from testbed.product import Product

pytestmark = pytest.mark.timeout(600)

TOPICS, COMMITS = 10, 30
TEXTS = [
    f"{text}\n"  # as a literal block of YAML has it
    for text in (
        fields("id"),
        fields("id", "x="),
        fields("id", "x:int"),
        fields("id", "x=", "note="),
        fields("id", "note="),
        fields("id", "total"),
        fields("x=", "note="),
        '{"type": "Order"}',
    )
]
STRATEGIES = ["BACKWARD_TRANSITIVE", "BACKWARD", "FORWARD", "FULL_TRANSITIVE", "ALWAYS_COMPATIBLE"]
OWN = ["FULL", "ALWAYS_COMPATIBLE", "UNDEFINED", "FORWARD_TRANSITIVE"]


@pytest.fixture
async def shop(product: Product, cluster: Cluster, namespace: str) -> AsyncIterator[WatchedShop]:
    async with watch_shop(cluster, namespace) as shop:
        shop.shop.apply_registry()
        yield shop


class World:
    """The manifests of a repository by file, and random edits of them."""

    def __init__(self, repository: Repository, shop: Shop, seed: int) -> None:
        self.repository = repository
        self._shop = shop
        self._random = random.Random(seed)  # noqa: S311
        self.files: dict[str, dict[str, Any]] = {"policy.yaml": self._policy(schemaCompatibilityStrategy=STRATEGIES[0])}
        for number in range(TOPICS):
            self.files[f"topics/t{number}.yaml"] = shop.topic_schema(TEXTS[number % 3], f"t{number}")

    def _policy(self, **spec: Any) -> dict[str, Any]:
        return self._shop.policy(**spec)

    def commit(self) -> None:
        """Write all manifests, and commit them."""
        for path in self.repository.root.rglob("*.yaml"):
            path.unlink()
        for file, resource in self.files.items():
            self.repository.write(file, resource)
        self.repository.commit()

    def edit(self) -> None:
        """Edit the policy now and then, and one to three topics."""
        if self._random.random() < 0.2:
            spec = {"schemaCompatibilityStrategy": self._random.choice(STRATEGIES)}
            if self._random.random() < 0.3:
                spec["constraints"] = {"allowedStrategies": ["FULL", "FORWARD_TRANSITIVE", "UNDEFINED"]}
            self.files["policy.yaml"] = self._policy(**spec)
        for number in self._random.sample(range(TOPICS), self._random.randint(1, 3)):
            self._edit(f"t{number}")

    def _edit(self, name: str) -> None:
        file = next((each for each in self.files if each.endswith(f"{name}.yaml")), None)
        chance = self._random.random()
        if file is not None and chance < 0.15:
            del self.files[file]
            return
        spec = {} if file is None else {k: m for k, m in self.files[file]["spec"].items() if k not in ("topic", "type")}
        spec["schema"] = self._random.choice(TEXTS)
        if chance > 0.8:
            spec["schemaCompatibilityStrategy"] = self._random.choice(OWN)
        elif chance > 0.65:
            spec.pop("schemaCompatibilityStrategy", None)
        elif chance > 0.55:
            spec["deletionPolicy"] = self._random.choice(["Delete", "Retain"])
        elif chance > 0.5:
            spec["suspend"] = not spec.get("suspend", False)
        if file is not None and self._random.random() < 0.2:
            del self.files[file]
            file = None
        folder = self._random.choice(["topics", "moved"])
        schema = spec.pop("schema")
        self.files[file or f"{folder}/{name}.yaml"] = self._shop.topic_schema(schema, name, **spec)


def _verdicts(repository: Repository, *options: str) -> dict[str, bool]:
    done = command_line.run(repository.root, "check", "-o", "json", *options, ".")
    assert done.returncode in (0, 1), done.stderr
    results = json.loads(done.stdout)["results"]
    return {each["name"]: each["compatible"] for each in results if not each["isRemoved"]}


def _differences(verdicts: dict[str, bool], accepted: dict[str, bool]) -> dict[str, tuple[bool | None, bool | None]]:
    names = verdicts.keys() | accepted.keys()
    every = {name: (verdicts.get(name), accepted.get(name)) for name in names}
    return {name: pair for name, pair in every.items() if pair[0] is not pair[1]}


async def _apply(shop: WatchedShop, world: World, before: set[str]) -> dict[str, bool]:
    """Apply everything, the policy first, and delete what is gone. Return what was accepted, once it is registered."""
    accepted = {}
    for resource in world.files.values():  # the policy is the first
        name = resource["metadata"]["name"]
        try:
            shop.apply(resource)
            accepted[name] = True
        except RefusedError:
            accepted[name] = False
        if resource["kind"] == "NamespaceSchemaPolicy":
            await shop.policy_ready("Active")
    for name in before - set(accepted):
        if shop.shop.api.get("topicschemas", shop.namespace, name) is not None:
            shop.delete(f"tsc/{name}")
    for resource in shop.shop.api.list("topicschemas", shop.namespace):
        name = resource["metadata"]["name"]
        await wait_for(partial(shop.get, name), _is_settled)
    return accepted


def _is_settled(wire: dict[str, Any]) -> bool:
    current = conditions(wire.get("status", {}))
    ready = current.get("Ready", {})
    return ready.get("observedGeneration") == wire["metadata"]["generation"] and "Reconciling" not in current


async def test_each_commit_gets_the_verdict_of_the_webhook(
    shop: WatchedShop, cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(cluster.kubeconfig))
    repository = Repository.create(tmp_path / "repository")
    repository.commit()
    world = World(repository, shop.shop, seed=32)
    counts = Counter[bool]()
    before: set[str] = set()
    for number in range(COMMITS):
        policy = world.files["policy.yaml"]
        if number:
            world.edit()
        world.commit()
        from_git = _verdicts(repository, "--git", "HEAD~1")
        is_live = bool(number) and policy == world.files["policy.yaml"]
        live = _verdicts(repository, "--live") if is_live else None
        accepted = await _apply(shop, world, before)
        assert _differences(from_git, accepted) == {}, f"Git, commit {number}"
        assert live is None or _differences(live, accepted) == {}, f"cluster, commit {number}"
        counts.update(accepted.values())
        before = set(accepted)
    assert counts[False] >= COMMITS // 3
