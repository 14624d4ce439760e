"""Two users with real roles: a tenant with the aggregated role `edit` in one namespace, and the platform team.

Each row is something that a tenant must not be able to do.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from support.kubernetes.admission import ID, NOTE, V0, record_schema
from support.kubernetes.registries import registry
from support.kubernetes.reviewed_namespace import KubectlResult, Shop, open_shop
from testbed import install
from testbed.cluster import Cluster
from testbed.product import NAMESPACE as SYSTEM
from testbed.product import VALIDATION, Product

pytestmark = pytest.mark.timeout(180)

TENANT, PLATFORM = "tenant", "platform"
INCOMPATIBLE = record_schema(ID, NOTE)
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "thief"},
    "spec": {"containers": [{"name": "thief", "image": "thief:1"}]},
}


@dataclass(frozen=True, slots=True)
class Users:
    """A governed namespace, and its two users."""

    shop: Shop

    def run(self, user: str, *arguments: str, wire: Mapping[str, Any] | None = None) -> KubectlResult:
        """Run kubectl as the user, with the object on its standard input."""
        stdin = None if wire is None else install.as_list([dict(wire)])
        files = () if wire is None else ("-f", "-")
        return self.shop.cluster.try_kubectl(*arguments, *files, f"--as={user}", stdin=stdin)

    def apply(self, wire: Mapping[str, Any], user: str = TENANT, *options: str) -> KubectlResult:
        return self.run(user, "apply", "--server-side", *options, wire=wire)

    def get(self, what: str, namespace: str) -> KubectlResult:
        return self.run(TENANT, "get", what, "-n", namespace)

    def edit(self, **spec: Any) -> KubectlResult:
        """Apply a new schema to the tenant's topic, with these further members of `spec`."""
        return self.apply(self.shop.topic_schema(INCOMPATIBLE, **spec))


@pytest.fixture
async def users(webhook: Product, cluster: Cluster, namespace: str) -> AsyncIterator[Users]:
    """Yield the users of a namespace under FULL_TRANSITIVE whose constraints are unset, with a recorded version 0."""
    async with open_shop(cluster, namespace) as shop:
        await shop.govern(schemaCompatibilityStrategy="FULL_TRANSITIVE", constraints={})
        await shop.register(V0)
        bind = ("create", "rolebinding", "-n", namespace)
        cluster.kubectl(*bind, "tenant", "--clusterrole=edit", f"--user={TENANT}")
        cluster.kubectl(*bind, "platform", "--clusterrole=topicschema-policy-admin", f"--user={PLATFORM}")
        name = f"platform-{namespace}"
        cluster.kubectl(
            "create", "clusterrolebinding", name, "--clusterrole=topicschema-registry-admin", f"--user={PLATFORM}"
        )
        try:
            yield Users(shop)
        finally:
            cluster.kubectl("delete", "clusterrolebinding", name)


def _of_another(users: Users) -> dict[str, Any]:
    wire = users.shop.topic_schema(V0, "stolen")
    wire["spec"]["topic"] = "persistent://bank/accounts/stolen"
    return wire


def _policy(users: Users, **spec: Any) -> dict[str, Any]:
    return users.shop.policy(constraints={}, **spec)


def _forged(users: Users) -> KubectlResult:
    done = users.apply(users.shop.topic_schema(V0))
    assert done.returncode == 0, done.stderr
    forged = {**users.shop.topic_schema(V0), "status": {"observedGeneration": 1, "schemaVersion": 7}}
    return users.apply(forged, TENANT, "--subresource=status")


def _finalizer(users: Users) -> KubectlResult:
    patch = '{"metadata":{"finalizers":["example.com/hold"]}}'
    return users.run(TENANT, "patch", "nsp", "orders", "-n", users.shop.namespace, "--type=merge", "-p", patch)


FORBIDDEN = "is forbidden"
ROWS: dict[str, tuple[Callable[[Users], KubectlResult], str]] = {
    "read the administrator's token": (lambda users: users.get("secrets", SYSTEM), FORBIDDEN),
    "read the token of validation pods": (lambda users: users.get("secrets", VALIDATION), FORBIDDEN),
    "run a pod beside that token": (
        lambda users: users.run(TENANT, "create", "-n", VALIDATION, wire=POD),
        FORBIDDEN,
    ),
    "read the log of another tenant's run": (lambda users: users.get("pods", VALIDATION), FORBIDDEN),
    "weaken the policy": (
        lambda users: users.apply(_policy(users, schemaCompatibilityStrategy="ALWAYS_COMPATIBLE")),
        FORBIDDEN,
    ),
    "choose a weaker strategy": (
        lambda users: users.edit(schemaCompatibilityStrategy="ALWAYS_COMPATIBLE"),
        "STRATEGY_NOT_ALLOWED",
    ),
    "pass FULL_TRANSITIVE": (lambda users: users.edit(), "FIELD_WITHOUT_DEFAULT"),
    "pass it by deleting the versions": (
        lambda users: users.apply(users.shop.topic_schema(V0, deletionPolicy="Delete")),
        "DELETION_POLICY_NOT_ALLOWED",
    ),
    "claim another Pulsar namespace": (
        lambda users: users.apply(_policy(users, pulsarNamespace="bank/accounts")),
        FORBIDDEN,
    ),
    "read the versions of others": (lambda users: users.get("schemahistories,schemaversions", SYSTEM), FORBIDDEN),
    "read the resources of others": (lambda users: users.get("tsc", "default"), FORBIDDEN),
    "read another tenant's bucket": (
        lambda users: users.edit(validation={"mode": "Report", "source": {"files": {"uri": "s3://bank"}}}),
        'unknown field "source"',
    ),
    "choose a host that the operator calls": (
        lambda users: users.apply(registry("mine", {"adminURL": "https://thief.example.com"})),
        FORBIDDEN,
    ),
    "read which hosts it calls": (lambda users: users.get("sreg", users.shop.namespace), FORBIDDEN),
    "forge a status": (_forged, FORBIDDEN),
    "hold a policy by a finalizer": (_finalizer, FORBIDDEN),
}


async def test_what_a_tenant_must_not_do_is_refused(users: Users) -> None:
    done = {row: (act(users), words) for row, (act, words) in ROWS.items()}
    other = [f"{row}: {each.stderr}" for row, (each, words) in done.items() if words not in each.stderr]
    assert not other, "\n".join(other)
    assert [row for row, (each, _) in done.items() if each.returncode == 0] == []


async def test_a_topic_of_another_pulsar_namespace_is_governed_by_no_policy_of_the_tenant(users: Users) -> None:
    done = users.apply(_of_another(users))
    assert "no NamespaceSchemaPolicy in this Kubernetes namespace governs bank/accounts" in done.stderr


async def test_a_tenant_writes_topics_and_reads_the_policy(users: Users) -> None:
    for done in (users.apply(users.shop.topic_schema(V0)), users.get("tsc,nsp", users.shop.namespace)):
        assert done.returncode == 0, done.stderr


async def test_the_platform_team_writes_registries_and_policies_and_reads_no_secret(users: Users) -> None:
    for wire in (registry(users.shop.namespace), _policy(users, schemaCompatibilityStrategy="FULL")):
        done = users.apply(wire, PLATFORM, "--force-conflicts")
        assert done.returncode == 0, done.stderr
    refused = users.run(PLATFORM, "get", "secrets", "-n", SYSTEM)
    assert FORBIDDEN in refused.stderr
