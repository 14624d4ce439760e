"""Only a user who may create pods in a namespace may set the pods of a validation, by a real authorizer.

The API server's own policy checks it, because the webhook may be away, and so does the webhook, which may be installed
alone. Its set-up waits until the API server enforces a policy that was just created.
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
"""The mark of the API server's own policy in a refusal, and that of the webhook."""


@pytest.fixture(scope="module", params=[OWN, WEBHOOK], ids=["policy", "webhook"])
def checker(request: pytest.FixtureRequest, product: Product, cluster: Cluster) -> Iterator[str]:
    """Yield the mark of the checker, without the other one."""
    by: str = request.param
    if by == WEBHOOK:
        cluster.kubectl("delete", "validatingadmissionpolicy,validatingadmissionpolicybinding", "topicschema-pods")
    else:
        product.admit_all()
    yield by
    product.admit()


@pytest.fixture
async def shop(checker: str, cluster: Cluster, namespace: str) -> AsyncIterator[Shop]:
    async with open_shop(cluster, namespace) as shop:
        shop.allow_claims()
        grant(shop, "alice", "policies", "get,list,create,update,patch", "namespaceschemapolicies.topicschema.io")
        applied = shop.policy(validation=TEMPLATE)

        async def refusal() -> str:
            return shop.run("create", "--dry-run=server", "--as=alice", objects=(applied,)).stderr

        await wait_for(refusal, lambda words: checker in words)  # an API server enforces a new policy a little later
        yield shop


def grant(shop: Shop, user: str, role: str, verbs: str, resource: str) -> None:
    shop.run("create", "role", role, f"--verb={verbs}", f"--resource={resource}")
    done = shop.run("create", "rolebinding", role, f"--role={role}", f"--user={user}")
    assert done.returncode == 0, done.stderr


def apply_as_alice(shop: Shop, validation: dict[str, Any], **spec: Any) -> KubectlResult:
    """Apply a policy with these settings as alice."""
    applied = shop.policy(**{"pulsar": PULSAR, "validation": validation, **spec})
    return shop.run("apply", "--server-side", "--force-conflicts", "--as=alice", objects=(applied,))


@pytest.mark.parametrize("validation", [TEMPLATE, TOKEN], ids=["template", "authentication"])
def test_only_a_user_who_may_create_pods_sets_their_template(shop: Shop, validation: dict[str, Any]) -> None:
    done = apply_as_alice(shop, validation)
    assert done.returncode != 0
    assert "only a user who may create pods there" in done.stderr
    assert apply_as_alice(shop, {"mode": "Gate", "sample": {"percent": 5}}).returncode == 0
    assert apply_as_alice(shop, validation).returncode != 0
    grant(shop, "alice", "pods", "create", "pods")
    assert apply_as_alice(shop, validation).returncode == 0


def test_settings_of_others_may_stay_but_their_credentials_go_to_no_other_broker(shop: Shop) -> None:
    applied = shop.policy(pulsar=PULSAR, validation=TOKEN)
    assert shop.run("apply", "--server-side", "--force-conflicts", objects=(applied,)).returncode == 0
    unchanged = {**TOKEN, "sample": {"percent": 5}}
    for validation, address, is_accepted in (
        (unchanged, PULSAR, True),
        (unchanged, MOVED, False),
        (unchanged, TRUSTING, False),
        ({"mode": "Gate"}, TRUSTING, False),
        ({"mode": "Gate"}, MOVED, True),
    ):
        done = apply_as_alice(shop, validation, pulsar=address)
        assert (done.returncode == 0) == is_accepted, done.stderr
