"""Requests to one broker: when they go out, how often, and what becomes of the answers. Times are seconds."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote

from yarl import URL

from topicschema import telemetry
from topicschema.broker import error_mapping
from topicschema.broker.circuit_breaker import Circuit
from topicschema.broker.clock import Clock
from topicschema.broker.connections import Connections, Exchange, check_downgrade
from topicschema.broker.credentials import Credential
from topicschema.broker.error_mapping import Asked, Call, Effect, Trouble
from topicschema.broker.errors import BrokerNotAllowedError, BrokerUnauthorizedError
from topicschema.broker.host_allow_list import AllowedHosts
from topicschema.broker.identity import Identity
from topicschema.broker.rate_limiter import Pace
from topicschema.core.errors import TopicSchemaError, WaitingError

_AT_ONCE: Final = 8
_TRIES: Final = 3
_PAUSE: Final = 0.3
_PATIENCE: Final = 2.0  # a longer Retry-After is the caller's to wait for
_MAX_REDIRECTS: Final = 3
_MAX_ANSWER_BYTES: Final = 16 << 20
_MAX_TOKEN_BYTES: Final = 1 << 20
_TOKEN_SECONDS: Final = 10.0


def _no_fence() -> None:
    """Whoever is nobody in particular may always write."""


@dataclass(frozen=True, slots=True)
class Access:
    """How to reach a broker's admin REST API, who we are there, and whom to trust.

    `ca` is PEM, and None means the system's own. `reread` reads the Secret again when the broker refuses what was in
    it; what it raises is raised to whoever asked. `pace` is shared by all who ask the same broker, None means a pace
    of its own. `fence` is called before each write, and what it raises stops that.
    """

    admin_url: str
    allowed: AllowedHosts
    credential: Credential = None
    ca: bytes | None = field(default=None, repr=False)
    reread: Callable[[], Awaitable[Credential]] | None = field(default=None, repr=False)
    pace: Pace | None = field(default=None, repr=False)
    fence: Callable[[], None] = field(default=_no_fence, repr=False)


@dataclass(frozen=True, slots=True)
class Body:
    """A request's body, as JSON; `null` is one, too."""

    value: Any


@dataclass(frozen=True, slots=True)
class Told:
    """What the broker told; None where it said yes and nothing more."""

    value: Any


@dataclass(frozen=True, slots=True)
class Request:
    """One request. `name` is what the metrics call it; `path` is percent-encoded as it is to be sent."""

    name: str
    call: Call
    method: str
    path: str
    body: Body | None = None
    seconds: float = 10.0
    max_bytes: int = _MAX_ANSWER_BYTES
    is_text: bool = False

    @property
    def is_repeatable(self) -> bool:
        """Whether it does no harm to send it twice: all but a deletion, which adds a tombstone each time."""
        return self.call is not Call.DELETE

    def __str__(self) -> str:
        """The request for people, its path decoded."""
        return f"{self.method} {unquote(unquote(self.path.partition('?')[0]))}"[:300]

    def asked_at(self, url: URL) -> Asked:
        """The request as it is sent there, for errors."""
        return Asked(self.call, str(self), str(url.origin()))


class Transport:
    """One policy's way to a broker: at the broker's pace, over its own connections, as who it is there.

    What one policy is answered slows and stops that policy alone: a broker may fail for one Pulsar namespace only.
    """

    def __init__(self, access: Access, clock: Clock) -> None:
        self._base = _base(access.admin_url)
        self._clock = clock
        self._fence = access.fence
        self._broker_pace = access.pace or Pace(clock)
        self._pace = Pace(clock, self._broker_pace.per_second)
        self._circuit = Circuit(clock)
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._connections = Connections(access.allowed, access.credential, access.ca)
        self._identity = Identity(access.credential, access.reread, self._fetch, clock)

    @property
    def is_away(self) -> bool:
        """True if the last calls got no answer."""
        return self._circuit.is_open

    async def close(self) -> None:
        """End all connections; what is under way fails."""
        telemetry.OPEN_CIRCUIT_BREAKERS.discard(self._circuit)
        await self._connections.close()

    async def identity(self) -> Mapping[str, str]:
        """The headers that say who we are; what the issuer of tokens answers instead of one is raised."""
        return await self._identity.headers()

    async def ask(self, request: Request) -> Any:
        """The answer, parsed; None where there is none but yes. The errors are those of `foreign`'s table."""
        started, outcome = self._clock.now(), "Abandoned"
        try:
            answer = await self._ask(request)
        except TopicSchemaError as error:
            outcome = error.reason
            raise
        else:
            outcome = "success"
            return answer
        finally:
            telemetry.BROKER_REQUESTS.labels(request.name, outcome).inc()
            telemetry.BROKER_REQUEST_DURATION.labels(request.name).observe(self._clock.now() - started)

    async def _ask(self, request: Request) -> Any:
        """The answer to the request, once there is a place and while the circuit lets calls out."""
        self._circuit.check()
        async with self._places:
            with self._circuit.passage() as passage:
                found = await self._tried(request, is_probe=passage.is_probe)
                if isinstance(found, Told):
                    return found.value
                if found.effect is Effect.AWAY and isinstance(found.error, WaitingError):
                    wanted = found.wanted or 0.0
                    self._circuit.fail(passage, found.error, wanted if wanted > _PATIENCE else None)
        raise found.error

    async def _tried(self, request: Request, *, is_probe: bool) -> Told | Trouble:
        """Return what comes back; send again where that does no harm and may help, but a probe only once."""
        tried = 0
        while True:
            found = await self._as_ourselves(request)
            self._note(found)
            tried += 1
            if isinstance(found, Told) or tried == _TRIES or is_probe or self._circuit.is_open:
                return found
            wanted = found.wanted or 0.0
            if wanted > _PATIENCE or not (found.is_repeated and request.is_repeatable):
                return found
            await self._clock.sleep(max(wanted, self._clock.spread(0.5, 1.5) * _PAUSE * tried))

    async def _as_ourselves(self, request: Request) -> Told | Trouble:
        """What comes back to us; where we are not known, to what the Secret says now."""
        try:
            headers = await self._identity.headers()
        except WaitingError as error:
            return Trouble(error, effect=Effect.AWAY)
        found = await self._to_owner(request, headers)
        is_unknown = isinstance(found, Trouble) and isinstance(found.error, BrokerUnauthorizedError)
        if not is_unknown:
            return found
        try:
            if await self._identity.renew(headers):
                found = await self._to_owner(request, await self._identity.headers())
        except WaitingError as error:
            return Trouble(error, effect=Effect.AWAY)
        return found

    async def _to_owner(self, request: Request, headers: Mapping[str, str]) -> Told | Trouble:
        """What comes back from the broker that owns what is asked for; others redirect to it."""
        url = URL(self._base + request.path, encoded=True)
        for _ in range(_MAX_REDIRECTS + 1):
            await self._turn()
            if request.call in error_mapping.WRITES:
                self._fence()
            exchange = _exchange(request, url, headers)
            answer = await self._connections.send(exchange)
            if isinstance(answer, Trouble):
                return answer
            if answer.is_good:
                return _told(answer.body, request, exchange.asked)
            target = answer.next_url(url)
            if target is None:
                body = self._identity.hide(answer.body)
                return error_mapping.from_answer(exchange.asked, answer.status, answer.headers, body)
            check_downgrade(url, target)
            url = target
        return error_mapping.from_stranger(exchange.asked, "redirected in circles")

    async def _fetch(self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]) -> tuple[int, bytes]:
        """Status and body of what an issuer of tokens answers."""
        await self._turn()
        target = _url(url)
        asked = Asked(Call.READ, f"{method} {target.host}{target.path}"[:300], str(target.origin()))
        exchange = Exchange(method, target, body, headers, _TOKEN_SECONDS, _MAX_TOKEN_BYTES, asked)
        answer = await self._connections.send(exchange, to_issuer=True)
        if isinstance(answer, Trouble):
            raise answer.error
        return answer.status, answer.body

    async def _turn(self) -> None:
        """Return when this policy, and then the broker, may be asked again."""
        await self._pace.take()
        await self._broker_pace.take()

    def _note(self, found: Told | Trouble) -> None:
        """What the answer means for the requests after it."""
        effect = found.effect if isinstance(found, Trouble) else Effect.NONE
        if effect not in {Effect.AWAY, Effect.LATE}:
            self._circuit.succeed()
        if effect in {Effect.SLOWER, Effect.LATE}:
            self._pace.slower()
        elif effect is Effect.NONE:
            self._pace.faster()


def _base(admin_url: str) -> str:
    url = _url(admin_url)
    if url.query_string or url.fragment:
        raise BrokerNotAllowedError("a broker's address must read http://HOST:PORT or https://HOST:PORT")
    return str(url).rstrip("/")


def _url(text: str) -> URL:
    try:
        url = URL(text)
        url.origin()  # what is no whole address is told of only when it is asked for
    except ValueError:
        raise BrokerNotAllowedError(f"{text[:200]!r} is not a URL") from None
    return url


def _exchange(request: Request, url: URL, headers: Mapping[str, str]) -> Exchange:
    body = None
    if request.body is not None:
        # Escaped to ASCII, so that no text can be without an encoding.
        body = json.dumps(request.body.value, separators=(",", ":")).encode("ascii")
        headers = {**headers, "Content-Type": "application/json"}
    return Exchange(request.method, url, body, headers, request.seconds, request.max_bytes, request.asked_at(url))


def _told(body: bytes, request: Request, asked: Asked) -> Told | Trouble:
    if not body:
        return Told(None)
    try:
        return Told(body.decode() if request.is_text else json.loads(body))
    except (ValueError, RecursionError):
        return error_mapping.from_stranger(asked, "the answer is not JSON, or not all of it")
