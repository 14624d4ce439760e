"""A node that runs pods, with the project's images; they start when the first test needs them.

The mark `e2e` is on each test with the fixture `node`. If no node or no image is available, the tier is skipped; with
CI=true that is a failure. `make e2e` runs it; `make test` does not.
"""

import functools
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import tiers
from support.kubernetes.operator_pods import install
from support.kubernetes.pods import Pods
from support.validation.node_namespace import RetainedShop
from support.validation.pod_object_store import PodStore
from support.validation.topic_messages import RetainedTopic
from testbed import brokers, helm, images, maven, nodes
from testbed.errors import SourceMissingError, TestbedError
from testbed.instances import Instance
from testbed.kind import Node
from testbed.nodes import ExistingNode
from testbed.progress import Progress
from testbed.pulsar import Pulsar


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs a node, before `-m` chooses."""
    for item in items:
        if "node" in getattr(item, "fixturenames", ()):
            item.add_marker("e2e")
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(600))  # whichever is first waits for the cluster


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build programs and images before the first test if one will need them: that takes longer than a test may."""
    chosen = [item for item in session.items if item.get_closest_marker("e2e")]
    if session.config.option.collectonly or not chosen:
        return
    capture = session.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        try:
            _prepare({name for item in chosen for name in getattr(item, "fixturenames", ())})
        except SourceMissingError as error:
            tiers.skip(session, "e2e", str(error))
        except TestbedError as error:
            raise pytest.UsageError(f"the e2e tier cannot run: {error}") from error


def _prepare(fixtures: set[str]) -> None:
    if lacking := _lacking(fixtures):
        raise SourceMissingError("; ".join(lacking))
    nodes.prepare(Progress())
    for name in images.NAMES:
        if f"{name}_image" in fixtures:
            _image(name)
    if "operator" in fixtures:
        helm.program(Progress())
    if "broker" in fixtures:
        brokers.prepare(Progress())


def _lacking(fixtures: set[str]) -> list[str]:
    """Return all that this machine lacks for tests with these fixtures, so that a person installs it at once."""
    reasons = [nodes.why_absent()]
    if "broker" in fixtures and brokers.from_environment() is None:
        reasons.append(maven.why_absent())
    return [why for why in reasons if why is not None]


@functools.cache
def _image(name: str) -> images.Image:
    """Return the image as it was when the run began, regardless of later edits."""
    return images.build(name, Progress())


@pytest.fixture(scope="session")
def node() -> Iterator[Node | ExistingNode]:
    """Yield a node that is ready; it and all on it end with the test run, also after kill -9."""
    owned = Instance.owned()
    try:
        yield nodes.start(owned, Progress())
    finally:
        owned.end()


@pytest.fixture
def own_node(node: Node | ExistingNode) -> Node:
    """Return the node. Skip the test if the testbed did not start it."""
    if isinstance(node, ExistingNode):
        pytest.skip("the node is not the testbed's")
    return node


@pytest.fixture
def store(own_node: Node, tmp_path: Path) -> PodStore:
    """Return a store that pods reach."""
    return PodStore.start(own_node, tmp_path)


@pytest.fixture(scope="session")
def operator_image(node: Node | ExistingNode) -> str:
    """Load the operator's image into the node. Return its name."""
    image = _image("operator")
    node.load(image.archive)
    return image.name


@pytest.fixture(scope="session")
def validation_image(node: Node | ExistingNode) -> str:
    """Load the images of validation runs into the node. Return the name of that without Spark."""
    images = [_image(name) for name in ("validation", "spark")]
    for each in images:
        node.load(each.archive)
    return images[0].name


@pytest.fixture(scope="session")
def broker(node: Node | ExistingNode) -> Pulsar:
    """Return a broker that pods reach."""
    try:
        return nodes.start_broker(node)
    except SourceMissingError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def operator(node: Node | ExistingNode, operator_image: str) -> Pods:
    """Install the operator by the chart, with all its pods ready. Return the pods of its namespace."""
    return install(node.cluster)


@pytest.fixture
def pods(node: Node | ExistingNode) -> Iterator[Pods]:
    """Yield a fresh namespace that accepts restricted pods only."""
    made = Pods(node.cluster, f"t-{secrets.token_hex(4)}")
    made.create_namespace()
    yield made
    node.cluster.kubectl("delete", "namespace", made.namespace, "--wait=false")


@pytest.fixture(scope="session")
def missing(operator: Pods, validation_image: str, broker: Pulsar) -> RetainedShop:
    """Return a namespace whose topic the broker does not have; it soon collects a new one, with its schema."""
    namespace = broker.create_namespace()
    idle = {"inactiveTopicDeleteMode": "delete_when_no_subscriptions", "maxInactiveDurationSeconds": 1}
    policies = {**idle, "deleteWhileInactive": True}
    broker.call("POST", f"/namespaces/{namespace}/inactiveTopicPolicies", policies)
    pods = Pods(operator.cluster, f"t-{secrets.token_hex(4)}")
    pods.create_namespace()
    return RetainedShop(pods, broker, RetainedTopic(broker, namespace, "created", 0))


@pytest.fixture
def shop(operator: Pods, validation_image: str, broker: Pulsar, pods: Pods) -> Iterator[RetainedShop]:
    """Yield a namespace whose topic has two partitions at the broker, and no messages yet."""
    shop = RetainedShop(pods, broker, RetainedTopic.create(broker, "created", 2))
    yield shop
    shop.remove_registry()
