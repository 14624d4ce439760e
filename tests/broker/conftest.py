"""Brokers for the tests: real ones, started when the first test needs them and ended with the test run.

The mark `broker` is on each test that needs one. If no broker is available, the tier is skipped; with CI=true that is a
failure. With PULSAR_ADMIN_URL and PULSAR_SERVICE_URL the named broker serves as `pulsar`, nothing is started, and tests
that need another one are skipped.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from broker.clients.attempts import JAVA_CLIENT
from support import tiers
from support.pulsar.brokered_namespace import RESYNC, BrokeredShop, proxied_shop
from support.pulsar.rest_topic import RestTopic
from support.validation.spark_session import open_session
from testbed import brokers, helm, maven, packages
from testbed.cluster import Cluster
from testbed.errors import SourceMissingError, TestbedError
from testbed.instances import Instance
from testbed.product import PATIENT_LEASE, Product
from testbed.progress import Progress
from testbed.pulsar import Pulsar
from testbed.pulsar import start as start_pulsar
from testbed.pulsar_setup import Access, Credentials, Setup

_HERE = Path(__file__).parent
_SHARED = "shared_controller"
_ADMIN_CLIENT = _HERE / "admin" / "pom.xml"
_JARS = {
    "test_connections.py": (JAVA_CLIENT,),
    "test_own_schemas.py": (JAVA_CLIENT, _ADMIN_CLIENT),
    "test_understand_page.py": (JAVA_CLIENT,),
}
_CONTROLLER = pytest.StashKey[Product]()

StartBroker = Callable[[str, Setup], Pulsar]
"""A function that starts the test run's broker of a name and set-up, or returns the one that runs."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs a broker, before `-m` chooses; modules that share a controller come last, one after the other."""
    for item in items:
        if {"pulsar", "start_broker"} & set(getattr(item, "fixturenames", ())):
            item.add_marker("broker")
    sharing = {item.path for item in items if _SHARED in getattr(item, "fixturenames", ())}
    items.sort(key=lambda item: item.path in sharing)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """End the shared controller where the next test is not one of those who share it."""
    if _SHARED not in getattr(nextitem, "fixturenames", ()):
        _end_controller(item.config.stash)


def _end_controller(stash: pytest.Stash) -> None:
    if _CONTROLLER in stash:
        stash[_CONTROLLER].stop()
        del stash[_CONTROLLER]


def pytest_collection_finish(session: pytest.Session) -> None:
    """Fetch the jars of broker and clients before the first test if one will need them: a test may not take as long."""
    tier = [item for item in session.items if item.get_closest_marker("broker")]
    if session.config.option.collectonly or not tier:
        return
    capture = session.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        try:
            brokers.prepare(Progress())
            _fetch({item.path.name for item in tier})
        except SourceMissingError as error:
            tiers.skip(session, "broker", str(error))
        except TestbedError as error:
            raise pytest.UsageError(f"the broker tier cannot run: {error}") from error


def _fetch(chosen: set[str]) -> None:
    if "test_first_steps.py" in chosen:
        helm.program(Progress())
        packages.supply(packages.SHELL, Progress())
    if maven.why_absent() is None:
        for pom in {pom for name in chosen for pom in _JARS.get(name, ())}:
            maven.jars(pom, Progress())


@pytest.fixture(scope="session")
def start_broker(instance: Instance) -> StartBroker:
    """Start brokers of another set-up. Skip the test if the environment names a broker, which cannot be set up."""

    def started(name: str, setup: Setup) -> Pulsar:
        if brokers.from_environment() is not None:
            pytest.skip("the broker that PULSAR_ADMIN_URL names cannot be set up as this test needs it")
        return start_pulsar(instance, name, setup)

    return started


@pytest.fixture(scope="session")
def pulsar(instance: Instance) -> Pulsar:
    """Return a broker without authentication, or the one that the environment names."""
    return brokers.start(instance)


@pytest.fixture(scope="session")
def secured_pulsar(start_broker: StartBroker) -> Pulsar:
    """Return a broker with TLS and tokens that grants each role its permissions."""
    return start_broker("secured", Setup(access=Access.TOKEN))


@pytest.fixture(scope="session")
def credentials(secured_pulsar: Pulsar) -> Credentials:
    """Return the credentials of `secured_pulsar`."""
    assert secured_pulsar.credentials is not None
    return secured_pulsar.credentials


@pytest.fixture(scope="session")
def certificate_pulsar(start_broker: StartBroker) -> Pulsar:
    """Return a broker with TLS that requires a client certificate."""
    return start_broker("certificate", Setup(access=Access.CERTIFICATE))


@pytest.fixture(scope="session")
def strict_pulsar(start_broker: StartBroker) -> Pulsar:
    """Return a broker whose own settings are the reverse of Pulsar's defaults; only one test at a time uses it."""
    settings = {
        "isAllowAutoUpdateSchemaEnabled": "false",
        "isSchemaValidationEnforced": "true",
        "schemaCompatibilityStrategy": "BACKWARD",
    }
    return start_broker("strict", Setup(settings))


@pytest.fixture(scope="session")
def retaining_pulsar(start_broker: StartBroker) -> Pulsar:
    """Return a broker with short ledgers and transactions, whose clients cut messages in chunks from 128 KiB on."""
    settings = {
        "maxMessageSize": "131072",
        "managedLedgerMaxEntriesPerLedger": "50",
        "managedLedgerMinLedgerRolloverTimeMinutes": "0",
        "transactionCoordinatorEnabled": "true",
    }
    return start_broker("retaining", Setup(settings))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Yield a SparkSession with the data sources. It would push filters to Python."""
    from topicschema.spark import PulsarMessages, PulsarVerdicts  # noqa: PLC0415  # pyspark, only if a test needs it

    pushes = {"spark.sql.python.filterPushdown.enabled": "true"}
    with open_session(tmp_path_factory.mktemp("spark"), **pushes) as session:
        session.dataSource.register(PulsarMessages)
        session.dataSource.register(PulsarVerdicts)
        yield session


@pytest.fixture
def pulsar_namespace(pulsar: Pulsar) -> Iterator[str]:
    """Yield a fresh tenant/namespace of `pulsar`. One that is empty afterwards is removed."""
    name = pulsar.create_namespace()
    yield name
    pulsar.request("DELETE", f"/namespaces/{name}")
    pulsar.request("DELETE", f"/tenants/{name.partition('/')[0]}")


@pytest.fixture
def secured_namespace(secured_pulsar: Pulsar) -> str:
    """Return a fresh tenant/namespace of `secured_pulsar`."""
    return secured_pulsar.create_namespace()


@pytest.fixture
def topic(pulsar: Pulsar, pulsar_namespace: str) -> RestTopic:
    """Return a topic of a fresh namespace of `pulsar`; nothing of it exists."""
    return RestTopic(pulsar, pulsar_namespace)


@pytest.fixture(scope="module")
def shared_controller(request: pytest.FixtureRequest, cluster: Cluster, instance: Instance) -> Iterator[Product]:
    """Yield one controller for all modules in a row that need it. The hook above ends it, or the last module.

    It reconciles all more than twice a second.
    """
    stash = request.config.stash
    if _CONTROLLER not in stash:
        installed = stash[_CONTROLLER] = Product.install(instance, cluster, {**PATIENT_LEASE, **RESYNC})
        installed.admit_all()
        installed.start_controller()
    yield stash[_CONTROLLER]
    if request.session.items[-1].path == request.path:
        _end_controller(stash)  # the cluster ends with the last test, before the hook runs


@pytest.fixture
async def shop(
    shared_controller: Product, pulsar: Pulsar, cluster: Cluster, namespace: str
) -> AsyncIterator[BrokeredShop]:
    """Yield a namespace that the controller watches, with its Pulsar namespace; it has no policy yet."""
    async with proxied_shop(pulsar, cluster, namespace) as shop:
        yield shop
