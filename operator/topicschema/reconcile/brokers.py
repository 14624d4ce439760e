"""The brokers of the registries: one client for each registry with Pulsar, from its addresses and its Secrets.

Secrets are read by name from the operator's namespace: on first use, at each reconcile of the registry, and after the
broker refused the credentials. Errors never quote a Secret.
"""

import asyncio
import base64
import binascii
import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Protocol
from weakref import WeakValueDictionary

from topicschema.api.kinds import SECRET, Kind
from topicschema.api.registries import AuthenticationSpec, PulsarSpec, SchemaRegistry, SecretKeyRef, TlsSpec
from topicschema.broker.broker import Broker
from topicschema.broker.clock import Clock
from topicschema.broker.credentials import ClientCertificate, Credential, OAuth2ClientCredentials, Token
from topicschema.broker.errors import SecretInvalidError
from topicschema.broker.host_allow_list import AllowedHosts
from topicschema.broker.rate_limiter import PER_SECOND
from topicschema.broker.transport import BrokerLimits, ClientConfig
from topicschema.cluster.errors import NotFoundError
from topicschema.core.errors import TopicSchemaError, WaitingError
from topicschema.core.reasons import Reason
from topicschema.core.remote import BrokerSettings

_CERTIFICATE, _KEY = "tls.crt", "tls.key"
_CLOCK: Final = Clock()
_OWN_SETTINGS_SECONDS: Final = 300.0
_CLOSING_SECONDS: Final = 180.0  # longer than any call, so that pending calls to the former broker complete


class SecretReader(Protocol):
    """Read access to the API server."""

    async def get(self, kind: Kind, namespace: str, name: str) -> dict[str, Any]:
        """Return the object. Raise NotFoundError."""


class SecretNotFoundError(WaitingError):
    """A Secret that a registry names does not exist."""

    def __init__(self, namespace: str, name: str) -> None:
        super().__init__(Reason.SECRET_NOT_FOUND, f"there is no Secret {name} in namespace {namespace}", after=60.0)


class _Secrets:
    """The Secrets of one Kubernetes namespace."""

    def __init__(self, client: SecretReader, namespace: str) -> None:
        self._client = client
        self._namespace = namespace
        self._names: dict[str, None] = {}

    @contextlib.contextmanager
    def named(self) -> Iterator[None]:
        """Add the names of the Secrets that were read to a SecretInvalidError."""
        try:
            yield
        except SecretInvalidError as error:
            raise SecretInvalidError(f"{error.message} (Secret {', '.join(self._names)})") from None

    async def member(self, ref: SecretKeyRef) -> bytes:
        """Return the decoded content of one key. Raise SecretInvalidError if it is empty."""
        return (await self.members(ref.name, ref.key))[0]

    async def members(self, name: str, *keys: str) -> tuple[bytes, ...]:
        """Return the decoded contents of several keys, from one revision of the Secret."""
        self._names[name] = None
        try:
            wire = await self._client.get(SECRET, self._namespace, name)
        except NotFoundError:
            raise SecretNotFoundError(self._namespace, name) from None
        return tuple(_member(wire, key) for key in keys)


def _member(wire: dict[str, Any], key: str) -> bytes:
    encoded = (wire.get("data") or {}).get(key)
    try:
        content = base64.b64decode(encoded or "", validate=True)
    except (binascii.Error, TypeError, ValueError):
        content = b""
    if not content.strip():
        raise SecretInvalidError(f"the key {key} is missing or empty")
    return content


@dataclass(frozen=True, slots=True)
class _CachedBroker:
    """A broker, with the spec and the Secrets that it was created from."""

    pulsar: PulsarSpec
    secrets: tuple[Credential, bytes | None]
    broker: Broker


class Brokers:
    """The brokers of the registries. `namespace` has their Secrets, and `fence` is called before each write.

    `per_second` limits the requests to each broker. Registries with the same broker share its rate limiter and its
    circuit breaker, in any spelling of its address. Each has its own connections and credentials.
    """

    def __init__(
        self,
        client: SecretReader,
        namespace: str,
        fence: Callable[[], None],
        clock: Clock = _CLOCK,
        per_second: int = PER_SECOND,
    ) -> None:
        self._client = client
        self._namespace = namespace
        self._fence = fence
        self._clock = clock
        self._per_second = per_second
        # The brokers have the strong references.
        self._limits: WeakValueDictionary[str, BrokerLimits] = WeakValueDictionary()
        self._cached: dict[str, _CachedBroker] = {}
        self._closing: dict[asyncio.Task[None], Broker] = {}
        self._own: dict[str, tuple[float, BrokerSettings | None]] = {}

    async def of(self, registry: SchemaRegistry, *, refresh: bool = False) -> Broker | None:
        """Return the broker of the registry, or None for the operator's own store. With `refresh`, read its Secrets.

        Raise BrokerNotAllowedError, SecretNotFoundError or SecretInvalidError.
        """
        pulsar, name = registry.spec.pulsar, registry.metadata.name
        if pulsar is None:
            self.forget(name)
            return None
        cached = self._cached.get(name)
        if cached is not None and cached.pulsar == pulsar and not refresh:
            return cached.broker
        secrets = _Secrets(self._client, self._namespace)
        with secrets.named():
            current = (await _credential(secrets, pulsar.authentication), await _ca(secrets, pulsar.tls))
            cached = self._cached.get(name)  # another reconcile may have created it in the meantime
            if cached is None or cached.pulsar != pulsar or cached.secrets != current:
                cached = _CachedBroker(pulsar, current, self._broker(name, pulsar, *current))
                self.forget(name)
                self._cached[name] = cached
        return cached.broker

    async def own_settings(self, registry: SchemaRegistry, broker: Broker) -> BrokerSettings | None:
        """Return the broker's defaults, cached for some minutes, or None if the role may not read them.

        If the broker fails, return the last known ones, or None, and request them again at the next call. No error is
        raised.
        """
        name, now = registry.metadata.name, self._clock.now()
        cached = self._own.get(name)
        if cached is not None and now - cached[0] < _OWN_SETTINGS_SECONDS:
            return cached[1]
        try:
            settings = await broker.broker_settings()
        except TopicSchemaError:
            return None if cached is None else cached[1]
        self._own[name] = (now, settings)
        return settings

    async def release(self, registry: SchemaRegistry, broker: Broker) -> str | None:
        """Return the broker's release, or the last known one if it does not report it now.

        Any role may read it. No error is raised.
        """
        with contextlib.suppress(TopicSchemaError):
            release = await broker.release()
            if release is not None:
                return release
        return None if registry.observed is None else registry.observed.version

    def ca(self, registry: SchemaRegistry) -> str | None:
        """Return the CA certificates of the registry's broker as PEM, as last read, or None."""
        cached = self._cached.get(registry.metadata.name)
        ca = None if cached is None else cached.secrets[1]
        return None if ca is None else ca.decode(errors="replace")

    def role(self, registry: SchemaRegistry) -> str:
        """Return the role of the operator at the broker, or a text for one that only the broker knows."""
        cached = self._cached.get(registry.metadata.name)
        credential = None if cached is None else cached.secrets[0]
        return (credential.role if isinstance(credential, Token) else None) or "the operator's role"

    def forget(self, name: str) -> None:
        """Remove the broker of a registry that is deleted or changed. Close it when no call can use it."""
        cached = self._cached.pop(name, None)
        if cached is not None:
            self._own.pop(name, None)
            task = asyncio.create_task(_close(cached.broker, _CLOSING_SECONDS))
            self._closing[task] = cached.broker
            task.add_done_callback(lambda task: self._closing.pop(task, None))

    async def aclose(self) -> None:
        """Close all connections at once."""
        for name in tuple(self._cached):
            self.forget(name)
        closing = tuple(self._closing.items())
        for task, broker in closing:
            task.cancel()
            await broker.close()
        await asyncio.gather(*(task for task, _ in closing), return_exceptions=True)

    def _broker(self, name: str, pulsar: PulsarSpec, credential: Credential, ca: bytes | None) -> Broker:
        limits = self._limits.setdefault(pulsar.address, BrokerLimits(self._clock, self._per_second))
        oauth2 = None if pulsar.authentication is None else pulsar.authentication.oauth2
        urls = [pulsar.admin_url, *(() if oauth2 is None else (oauth2.issuer_url,))]
        hosts = AllowedHosts.of(urls, pulsar.redirect_hosts, name)
        return Broker(ClientConfig(pulsar.admin_url, hosts, credential, ca, limits, self._fence), self._clock)


async def _close(broker: Broker, after: float) -> None:
    await asyncio.sleep(after)
    await broker.close()


async def _ca(secrets: _Secrets, tls: TlsSpec | None) -> bytes | None:
    return None if tls is None else await secrets.member(tls.ca_secret_ref)


async def _credential(secrets: _Secrets, authentication: AuthenticationSpec | None) -> Credential:
    if authentication is None:
        return None
    token, oauth2, tls = authentication.token, authentication.oauth2, authentication.tls
    if token is not None:
        return Token.of(await secrets.member(token.secret_ref))
    if oauth2 is not None:
        return OAuth2ClientCredentials(
            issuer_url=oauth2.issuer_url,
            client_id=oauth2.client_id,
            client_secret=OAuth2ClientCredentials.secret_of(await secrets.member(oauth2.secret_ref)),
            audience=oauth2.audience or "",
            scope=oauth2.scope or "",
        )
    if tls is not None:
        return ClientCertificate(*await secrets.members(tls.secret_ref.name, _CERTIFICATE, _KEY))
    return None
