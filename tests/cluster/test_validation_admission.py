"""Who sets what a validation's pods are made of must be allowed to make pods there: asked of a real authorizer.

By the API server's own policy, for the webhook may be away, and by the webhook, which may be installed alone.
Its set-up waits until the API server enforces a policy that was just created.
"""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from support.kubernetes.reviewed_namespace import KubectlResult, Shop, open_shop
from support.kubernetes.watched_namespace import wait_for
from testbed.cluster import Cluster
from testbed.product import Product

pytestmark = pytest.mark.timeout(180)

TEMPLATE = {"mode": "Gate", "template": {"serviceAccountName": "reader"}}
TOKEN = {"mode": "Gate", "authentication": {"token": {"secretKeyRef": {"name": "s", "key": "t"}}}}
PULSAR = {"adminURL": "https://pulsar:8443", "serviceURL": "pulsar+ssl://pulsar:6651"}
TRUSTING = {**PULSAR, "tls": {"caSecretKeyRef": {"name": "theirs", "key": "ca.crt"}}}
MOVED = {**PULSAR, "serviceURL": "pulsar+ssl://elsewhere:6651"}


OWN, WEBHOOK = "ValidatingAdmissionPolicy", "Forbidden: validation.template"
"""What the API server's own policy is known by in a refusal, and the webhook."""


@pytest.fixture(scope="module", params=[OWN, WEBHOOK], ids=["policy", "webhook"])
def answers(request: pytest.FixtureRequest, product: Product, cluster: Cluster) -> Iterator[str]:
    """By what the one who is asked is known; the other one is taken away."""
    by: str = request.param
    if by == WEBHOOK:
        cluster.kubectl("delete", "validatingadmissionpolicy,validatingadmissionpolicybinding", "topicschema-pods")
    else:
        product.admit_all()
    yield by
    product.admit()


@pytest.fixture
async def shop(answers: str, cluster: Cluster, namespace: str) -> AsyncIterator[Shop]:
    async with open_shop(cluster, namespace) as shop:
        shop.allow_claims()
        grant(shop, "alice", "policies", "get,list,create,update,patch", "namespaceschemapolicies.topicschema.io")
        wanted = shop.policy(validation=TEMPLATE)

        async def told() -> str:
            return shop.run("create", "--dry-run=server", "--as=alice", objects=(wanted,)).stderr

        await wait_for(told, lambda words: answers in words)  # an API server hears of what it asks a little later
        yield shop


def grant(shop: Shop, user: str, role: str, verbs: str, resource: str) -> None:
    shop.run("create", "role", role, f"--verb={verbs}", f"--resource={resource}")
    told = shop.run("create", "rolebinding", role, f"--role={role}", f"--user={user}")
    assert told.returncode == 0, told.stderr


def sets(shop: Shop, validation: dict[str, Any], **spec: Any) -> KubectlResult:
    """What alice is told who sets this."""
    wanted = shop.policy(**{"pulsar": PULSAR, "validation": validation, **spec})
    return shop.run("apply", "--server-side", "--as=alice", objects=(wanted,))


@pytest.mark.parametrize("validation", [TEMPLATE, TOKEN], ids=["template", "authentication"])
def test_only_who_may_create_pods_decides_what_they_are_made_of(shop: Shop, validation: dict[str, Any]) -> None:
    told = sets(shop, validation)
    assert told.returncode != 0
    assert "only a user who may create pods there" in told.stderr
    assert sets(shop, {"mode": "Gate", "sample": {"percent": 5}}).returncode == 0
    assert sets(shop, validation).returncode != 0
    grant(shop, "alice", "pods", "create", "pods")
    assert sets(shop, validation).returncode == 0


def test_what_others_set_may_be_kept_but_credentials_are_not_shown_elsewhere(shop: Shop) -> None:
    wanted = shop.policy(pulsar=PULSAR, validation=TOKEN)
    assert shop.run("apply", "--server-side", "--force-conflicts", objects=(wanted,)).returncode == 0
    kept = {**TOKEN, "sample": {"percent": 5}}
    for said, address, is_taken in (
        (kept, PULSAR, True),
        (kept, MOVED, False),
        (kept, TRUSTING, False),
        ({"mode": "Gate"}, TRUSTING, False),
        ({"mode": "Gate"}, MOVED, True),
    ):
        told = shop.run(
            "apply",
            "--server-side",
            "--force-conflicts",
            "--as=alice",
            objects=(shop.policy(pulsar=address, validation=said),),
        )
        assert (told.returncode == 0) == is_taken, told.stderr
