"""The reconcile of a SchemaRegistry: its status, situation by situation, and the keys that it enqueues."""

import base64
import ssl
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from yarl import URL

from support.kubernetes.conditions import summary
from support.kubernetes.topic import World
from support.metrics import counted
from support.pulsar.fake_broker import run_fake_broker
from support.pulsar.fake_reader_broker import FakeReaderBroker, run_fake_reader_broker
from testbed.certificates import Authority
from testbed.product import NAMESPACE as SYSTEM
from topicschema.api.kinds import EVENT, NAMESPACE_SCHEMA_POLICY, SCHEMA_REGISTRY, SECRET
from topicschema.api.registries import SchemaRegistryStatus
from topicschema.api.wire import decode
from topicschema.core.errors import StalledError, TopicSchemaError
from topicschema.core.topics import PulsarNamespaceKey
from topicschema.reconcile.registry import SchemaRegistryReconciler
from topicschema.reconcile.runtime.work_queue import Key, ReconcileResult

Object = dict[str, Any]

KEY = Key(SCHEMA_REGISTRY.plural, "", "pulsar")
POLICY = Key(NAMESPACE_SCHEMA_POLICY.plural, "shop", "orders")
BY_TOKEN = {"authentication": {"token": {"secretRef": {"name": "admin", "key": "token"}}}}
ACTIVE = "Active: +Ready +Reachable/Reachable"
ROLE_TOKEN = "e30.eyJzdWIiOiAib3BlcmF0b3IifQ.x"  # noqa: S105 - the token of the role `operator`, without a signature


@dataclass
class Registered:
    """The registry `pulsar`, which one policy names, and the keys that its reconciles enqueued."""

    world: World
    enqueued: list[Key] = field(default_factory=list)

    def __post_init__(self) -> None:
        ctx = replace(self.world.ctx, enqueue=lambda key, _: self.enqueued.append(key))
        ctx.index.update_policy(POLICY, PulsarNamespaceKey("pulsar", "shop", "orders"))
        self.reconciler = SchemaRegistryReconciler(ctx)

    def set(self, **pulsar: Any) -> None:
        """Set a registry with this broker and no status."""
        self.world.set_registry(pulsar={**self.world.pulsar, **pulsar})
        self.world.api.change("/schemaregistries/pulsar", lambda wire: wire.pop("status"))

    def put_token(self, token: str = ROLE_TOKEN) -> None:
        self.put_secret("admin", token=token.encode())

    def put_secret(self, name: str, **members: bytes) -> None:
        data = {key: base64.b64encode(value).decode() for key, value in members.items()}
        self.world.api.put(SECRET, SYSTEM, name, {"data": data})

    async def reconcile(self) -> str:
        """Reconcile twice, where the second one writes nothing. Return the conditions in one line."""
        outcomes = [await self._outcome()]
        writes = self.world.writes
        outcomes.append(await self._outcome())
        assert (outcomes[1], self.world.writes) == (outcomes[0], writes)
        status = await self.status()
        main = status.conditions[0].reason
        assert outcomes[0] in {"", main}
        return summary(status.conditions)

    async def _outcome(self) -> str:
        try:
            assert await self.reconciler.reconcile(KEY) is ReconcileResult.DONE
        except TopicSchemaError as error:
            return error.reason
        return ""

    async def status(self) -> SchemaRegistryStatus:
        wire = await self.world.ctx.client.get(SCHEMA_REGISTRY, "", "pulsar")
        status = decode(SchemaRegistryStatus, wire["status"])
        assert status.observed_generation == wire["metadata"]["generation"]
        return status

    async def message(self, kind: str = "Ready") -> str:
        return {each.type: each.message for each in (await self.status()).conditions}[kind]

    async def events(self, reason: str) -> list[Any]:
        return [each for each in await self.world.ctx.client.list(EVENT, "default") if each["reason"] == reason]


@pytest.fixture
def registry(world: World) -> Registered:
    return Registered(world)


async def test_the_own_store_needs_nothing(registry: Registered) -> None:
    registry.world.set_registry()
    registry.world.broker.requests.clear()
    assert await registry.reconcile() == "Active: +Ready"
    assert "operator's own store" in await registry.message()
    assert (await registry.status()).observed is None
    assert registry.world.broker.requests == []


async def test_a_broker_is_observed_with_its_version_and_its_settings(registry: Registered) -> None:
    registry.set()
    assert await registry.reconcile() == ACTIVE
    assert await registry.message("Reachable") == "Pulsar 4.0.7"
    observed = (await registry.status()).observed
    assert observed is not None
    assert (observed.version, observed.address) == ("4.0.7", URL(registry.world.broker.url).authority)
    assert observed.settings is not None


def no_secret(registry: Registered) -> None:
    """Put no Secret in the operator's namespace; one in the tenant's is not read."""
    registry.world.api.put(SECRET, "shop", "admin", {"data": {"token": "dA=="}})


WRONG: dict[str, tuple[Callable[[Registered], None], str, str]] = {
    "no Secret": (no_secret, "SecretNotFound: -Ready +Reconciling", f"there is no Secret admin in namespace {SYSTEM}"),
    "no key": (
        lambda registry: registry.put_secret("admin", other=b"t"),
        "SecretInvalid: -Ready +Reconciling",
        "the key token is missing or empty (Secret admin)",
    ),
    "wrong token": (
        lambda registry: registry.put_token("wrong"),
        "BrokerUnauthorized: -Ready +Reconciling",
        "401",
    ),
}


@pytest.mark.parametrize("case", WRONG)
async def test_a_secret_or_a_token_that_is_wrong_is_named_until_it_is_mended(registry: Registered, case: str) -> None:
    put, expected, part = WRONG[case]
    registry.world.broker.token = ROLE_TOKEN
    registry.set(**BY_TOKEN)
    put(registry)
    assert await registry.reconcile() == f"{expected} ?Reachable"
    assert part in await registry.message()
    assert registry.world.ctx.index.secrets[KEY] == {"admin"}, "a change of the Secret enqueues the registry"
    registry.put_token()
    registry.enqueued.clear()
    assert await registry.reconcile() == ACTIVE
    assert registry.enqueued == [POLICY]


@pytest.mark.parametrize("status", [200, 404])
async def test_a_web_page_is_not_a_broker(registry: Registered, status: int) -> None:
    async with run_fake_broker() as page:
        page.respond_with(status, "<html>Welcome</html>", Content_Type="text/html")
        registry.set(adminURL=page.url)
        assert await registry.reconcile() == "NotABroker: -Ready +Reconciling ?Reachable"
        assert "is this a broker's admin URL?" in await registry.message()


async def test_a_certificate_of_another_authority_is_refused(registry: Registered, tmp_path: Path) -> None:
    ours, theirs = (Authority.at(tmp_path / name) for name in ("ours", "theirs"))
    issued = theirs.issue("server", ["127.0.0.1"])
    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    serving.load_cert_chain(issued.certificate, issued.key)
    async with run_fake_broker(serving) as secure:
        secure.respond_with(200, "4.0.7")
        registry.set(adminURL=secure.url, tls={"caSecretRef": {"name": "trust", "key": "ca.crt"}})
        registry.put_secret("trust", **{"ca.crt": ours.certificate.read_bytes()})
        assert await registry.reconcile() == "BrokerTLSVerificationFailed: -Ready +Reconciling ?Reachable"
        assert registry.world.ctx.index.secrets[KEY] == {"trust"}
        registry.put_secret("trust", **{"ca.crt": theirs.certificate.read_bytes()})
        await registry.reconcile()
        assert (await registry.message("Reachable")).startswith("Pulsar 4.0.7")


async def test_a_broker_that_is_away_leaves_what_was_observed(registry: Registered) -> None:
    registry.set()
    await registry.reconcile()
    before = (await registry.status()).observed
    registry.world.broker.is_forbidden = True
    registry.enqueued.clear()
    assert await registry.reconcile() == "BrokerForbidden: -Ready +Reconciling ?Reachable"
    assert (await registry.status()).observed == before
    assert registry.enqueued == [POLICY]


async def test_a_version_is_the_brokers_and_another_one_in_the_spec_is_a_mismatch(registry: Registered) -> None:
    registry.world.broker.version = "4.1.2"
    registry.set(version="4.0")
    assert await registry.reconcile() == "PulsarVersionMismatch: -Ready +Stalled +Reachable/Reachable"
    message = (
        "the broker is 4.1.2, whose rules judge, and spec.pulsar.version is 4.0: remove the field, or set it to 4.1"
    )
    assert message in await registry.message()
    assert (await registry.world.ctx.registries.get("pulsar")).version == "4.1.2"
    registry.set(version="4.1")
    assert await registry.reconcile() == ACTIVE


async def test_a_version_that_the_operator_does_not_know_is_reported_once(registry: Registered) -> None:
    registry.world.broker.version = "77.0.0"
    registry.set()
    assert await registry.reconcile() == ACTIVE
    assert "the broker is 77.0.0, which this operator does not know" in await registry.message("Reachable")
    assert len(await registry.events("PulsarVersionUnsupported")) == 1
    assert counted("registries_with_unknown_pulsar_version") == 1
    registry.world.broker.version = "4.0.9"
    assert await registry.reconcile() == ACTIVE
    assert counted("registries_with_unknown_pulsar_version") == 0


@pytest.mark.parametrize("version", ["unknown", ""])
async def test_a_server_without_a_version_is_not_a_broker(registry: Registered, version: str) -> None:
    registry.world.broker.version = version
    registry.set()
    assert await registry.reconcile() == "NotABroker: -Ready +Reconciling ?Reachable"


async def test_missing_rights_are_named_with_the_command_that_grants_them(registry: Registered) -> None:
    registry.world.broker.admins = ("shop",)
    registry.world.ctx.index.update_policy(
        Key(POLICY.plural, "store", "orders"), PulsarNamespaceKey("pulsar", "store", "orders")
    )
    registry.put_token()
    registry.set(**BY_TOKEN)
    assert await registry.reconcile() == ACTIVE
    message = await registry.message("Reachable")
    assert (
        "operator is no admin of tenant store: pulsar-admin tenants update store --admin-roles ROLES,operator"
        in message
    )
    assert "tenant shop" not in message
    registry.world.broker.admins = None
    await registry.reconcile()
    assert await registry.message("Reachable") == "Pulsar 4.0.7"


async def test_settings_that_only_a_superuser_may_read_are_a_missing_right(registry: Registered) -> None:
    registry.world.broker.are_own_settings_shown = False
    registry.set()
    assert await registry.reconcile() == ACTIVE
    assert "the broker's own settings cannot be read" in await registry.message("Reachable")
    observed = (await registry.status()).observed
    assert observed is not None
    assert observed.settings is None


async def test_a_service_url_that_is_none_of_pulsar_is_invalid(registry: Registered) -> None:
    registry.set(serviceURL=registry.world.broker.url.replace("http:", "pulsar:"))
    assert await registry.reconcile() == "InvalidServiceURL: -Ready +Stalled ?Reachable"
    assert "spec.pulsar.serviceURL pulsar://127.0.0.1" in await registry.message()


async def test_a_service_url_may_be_out_of_reach_of_the_operator(registry: Registered) -> None:
    registry.set(serviceURL="pulsar://127.0.0.1:1")
    assert await registry.reconcile() == ACTIVE
    assert "spec.pulsar.serviceURL cannot be reached from the operator" in await registry.message("Reachable")
    with run_fake_reader_broker(FakeReaderBroker(1, 0)) as source:
        registry.set(serviceURL=source.service_url)
        assert await registry.reconcile() == ACTIVE
        assert await registry.message("Reachable") == "Pulsar 4.0.7"


async def test_policies_are_enqueued_if_the_registry_changes_and_not_at_rest(registry: Registered) -> None:
    other = Key(POLICY.plural, "shop", "other")
    registry.world.ctx.index.update_policy(other, PulsarNamespaceKey("other", "shop", "orders"))
    registry.set()
    await registry.reconcile()
    assert registry.enqueued == [POLICY]
    for change in (
        lambda: setattr(registry.world.broker, "version", "4.2.1"),
        lambda: registry.world.api.change("/schemaregistries/pulsar", _edit),
    ):
        registry.enqueued.clear()
        await registry.reconcile()
        assert registry.enqueued == []
        change()
        await registry.reconcile()
        assert registry.enqueued == [POLICY]


def _edit(wire: Object) -> None:
    wire["metadata"]["generation"] += 1
    wire["spec"]["allowedNamespaces"] = []


async def test_an_invalid_spec_that_bypassed_the_crd_is_reported(registry: Registered) -> None:
    registry.set()
    registry.world.api.change("/schemaregistries/pulsar", lambda wire: wire["spec"].update(pulsar={"adminURL": 7}))
    with pytest.raises(StalledError):
        await registry.reconciler.reconcile(KEY)
    assert summary((await registry.status()).conditions) == "InvalidResource: -Ready +Stalled ?Reachable"


async def test_a_deleted_registry_enqueues_its_policies_and_nothing_of_it_stays(registry: Registered) -> None:
    registry.put_token()
    registry.world.broker.version = "77.0.0"
    registry.set(**BY_TOKEN)
    await registry.reconcile()
    registry.enqueued.clear()
    registry.world.api.delete(SCHEMA_REGISTRY, "", "pulsar")
    assert await registry.reconciler.reconcile(KEY) is ReconcileResult.DELETED
    assert registry.enqueued == [POLICY]
    assert registry.world.ctx.index.secrets == {}
    assert counted("registries_with_unknown_pulsar_version") == 0


@pytest.fixture(autouse=True)
async def connections_closed(registry: Registered) -> AsyncIterator[None]:
    yield
    await registry.world.ctx.brokers.aclose()
