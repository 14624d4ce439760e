"""Every way in which a broker breaks, by what a person sees of a real controller, and that nothing comes of it.

All breakages are gone through at once, for a minute; each test then asks one thing of each of them.
"""

from collections.abc import AsyncIterator, Iterator

import pytest

from broken_brokers import BREAKAGES, Breakage, Certificates
from broken_course import EDITED, FRESH, KEPT, LEAVING, Scene, opened
from testbed.cluster import Cluster
from testbed.instances import Instance
from testbed.product import NAMESPACE as SYSTEM
from testbed.product import Product
from testbed.pulsar import Pulsar
from topicschema.cluster.client import ApiClient
from topicschema.cluster.connection import Connection
from topicschema.storage.record import RecordStorage
from watched_shop import conditions, record_key, says

pytestmark = [pytest.mark.timeout(840), pytest.mark.broker]

_ENVIRONMENT = {"TOPICSCHEMA_BROKER_HOSTS": "127.0.0.1", "TOPICSCHEMA_RESYNC_PERIOD": "30"}
_each_breakage = pytest.mark.parametrize("breakage", BREAKAGES, ids=lambda breakage: breakage.name)


@pytest.fixture(scope="module")
def product(cluster: Cluster, instance: Instance) -> Iterator[Product]:
    """Controller and webhook at work; every topic is looked at again after half a minute."""
    installed = Product.install(instance, cluster, _ENVIRONMENT)
    try:
        installed.start_controller()
        installed.start_webhook()
        installed.admit()
        yield installed
    finally:
        installed.stop()


@pytest.fixture(scope="module")
async def scenes(
    product: Product, cluster: Cluster, instance: Instance, pulsar: Pulsar
) -> AsyncIterator[dict[str, Scene]]:
    """All breakages, gone through."""
    assert product.controller.pid
    certificates = Certificates.made_in(instance.folder / "broken")
    async with ApiClient(Connection.load(str(cluster.kubeconfig))) as client:
        with opened(cluster, client, pulsar, certificates) as course:
            await course.run()
            yield {scene.breakage.name: scene for scene in course.scenes}


def told(scene: Scene, role: str) -> dict[str, tuple[str, str]]:
    """Status and reason of each condition of the topic, at the end of the minute."""
    found = conditions(scene.told[role]["status"])
    return {kind: (condition["status"], condition["reason"]) for kind, condition in found.items()}


@_each_breakage
def test_what_was_registered_stays_ready_and_says_that_it_is_out_of_sight(
    scenes: dict[str, Scene], breakage: Breakage
) -> None:
    kept = told(scenes[breakage.name], KEPT)
    in_sync = ("Unknown", breakage.reason) if breakage.hides else ("True", "Registered")
    assert kept["Ready"] == kept["Registered"] == ("True", "Registered")
    assert kept["InSync"] == in_sync
    assert "Stalled" not in kept
    assert "Reconciling" not in kept


@_each_breakage
def test_a_policy_stays_in_force_unless_its_settings_are_known_to_be_gone(
    scenes: dict[str, Scene], breakage: Breakage
) -> None:
    policy = conditions(scenes[breakage.name].policy["status"])
    assert policy["Ready"]["reason"] == (breakage.reason if breakage.ends_policy else "InForce")
    assert policy["InSync"]["reason"] == (breakage.reason if breakage.hides_policy else "Applied")
    assert (policy["InSync"]["status"] == "True") is not breakage.hides_policy


@_each_breakage
def test_what_could_not_be_written_is_not_ready_and_says_why(scenes: dict[str, Scene], breakage: Breakage) -> None:
    scene = scenes[breakage.name]
    waits = "Stalled" if breakage.is_stalled else "Reconciling"
    for role in (EDITED, FRESH):
        found = told(scene, role)
        assert found["Ready"] == ("False", breakage.reason)
        assert found[waits] == ("True", breakage.reason)
        assert found["Registered"][0] != "True"
    assert told(scene, LEAVING)["Ready"] == ("False", breakage.on_deletion or breakage.reason)
    assert scene.yes == set()


@_each_breakage
def test_nothing_is_lost_or_deleted_or_stored_twice(scenes: dict[str, Scene], breakage: Breakage) -> None:
    scene = scenes[breakage.name]
    assert scene.stored == {KEPT: [0], EDITED: [0], FRESH: None, LEAVING: [0]}
    for role in (KEPT, EDITED, LEAVING):
        assert scene.during[role].entries == scene.before[role].entries
        assert len(scene.told[role]["status"]["versions"]) == 1
    assert scene.during[FRESH].entries == ()


@_each_breakage
def test_the_broker_is_asked_no_more_often_than_is_stated(scenes: dict[str, Scene], breakage: Breakage) -> None:
    requests = scenes[breakage.name].requests
    assert requests <= breakage.a_minute
    assert requests or breakage.name == "refused", "nothing was asked while it was broken"


@_each_breakage
def test_edits_are_reviewed_all_the_while(scenes: dict[str, Scene], breakage: Breakage) -> None:
    refusal = scenes[breakage.name].refusal
    assert refusal is not None
    assert refusal.status == 422
    assert "spec.schema" in str(refusal)


@_each_breakage
async def test_all_comes_right_without_help_and_then_nothing_is_written(
    scenes: dict[str, Scene], breakage: Breakage
) -> None:
    scene = scenes[breakage.name]
    assert scene.recovered is not None, {role: says(wire["status"]) for role, wire in scene.after.items()}
    assert [await scene.topic(role).agree() for role in (KEPT, EDITED, FRESH)] == [[0], [0, 1], [0]]
    assert scene.topic(LEAVING).rest.index() == [0, 1]  # the second is the deletion
    client = scene.shop.watched.shop.client
    assert not (await RecordStorage(client, SYSTEM).get_history(record_key(scene.shop.watched, LEAVING))).revision
    assert scene.rewritten == []
