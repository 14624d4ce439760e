"""Requests to one broker with rate limit, circuit breaker, redirects and retry. Times are seconds."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote

from yarl import URL

from topicschema import telemetry
from topicschema.broker import error_mapping
from topicschema.broker.circuit_breaker import CircuitBreaker
from topicschema.broker.clock import Clock
from topicschema.broker.connections import Exchange, HttpConnections, check_downgrade
from topicschema.broker.credentials import Credential
from topicschema.broker.error_mapping import BrokerFailure, CallKind, RequestInfo
from topicschema.broker.errors import BrokerNotAllowedError, BrokerUnauthorizedError
from topicschema.broker.host_allow_list import AllowedHosts, parsed_url
from topicschema.broker.identity import Identity
from topicschema.broker.rate_limiter import PER_SECOND, RateLimiter
from topicschema.core.errors import TopicSchemaError, WaitingError

_PAUSE: Final = 0.3
_MAX_RETRY_AFTER: Final = 2.0  # the caller waits for a longer Retry-After
_MAX_REDIRECTS: Final = 3
_MAX_ANSWER_BYTES: Final = 16 << 20
_MAX_TOKEN_BYTES: Final = 1 << 20
_TOKEN_SECONDS: Final = 10.0
_PROBE: Final = "/admin/v2/brokers/version"


def _no_fence() -> None:
    """Allow all writes."""


class BrokerLimits:
    """The limits on the requests to one broker, shared by all registries that name it."""

    def __init__(self, clock: Clock, per_second: int = PER_SECOND) -> None:
        self.rate = RateLimiter(clock, per_second)
        self.breaker = CircuitBreaker(clock)


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """Address, credential and CA of a broker's admin REST API.

    `ca` is PEM; None means the system's CAs. All clients of a broker share `limits`; None means separate limits.
    `fence` is called before each write, and its error stops the write.
    """

    admin_url: str
    allowed: AllowedHosts
    credential: Credential = None
    ca: bytes | None = field(default=None, repr=False)
    limits: BrokerLimits | None = field(default=None, repr=False)
    fence: Callable[[], None] = field(default=_no_fence, repr=False)


@dataclass(frozen=True, slots=True)
class RequestBody:
    """A request's body as a JSON value. None is sent as `null`."""

    value: Any


@dataclass(frozen=True, slots=True)
class JsonResponse:
    """The value of an answer, or None if its body is empty."""

    value: Any


@dataclass(frozen=True, slots=True)
class BrokerRequest:
    """One request. `name` is its label in metrics; `path` is percent-encoded."""

    name: str
    call: CallKind
    method: str
    path: str
    body: RequestBody | None = None
    seconds: float = 10.0
    max_bytes: int = _MAX_ANSWER_BYTES
    is_text: bool = False

    @property
    def is_idempotent(self) -> bool:
        """True if a retry is safe: for all requests but a deletion, which adds a tombstone each time."""
        return self.call is not CallKind.DELETE

    def __str__(self) -> str:
        """Return method and decoded path, for messages."""
        return f"{self.method} {unquote(unquote(self.path.partition('?')[0]))}"[:300]

    def info_at(self, url: URL) -> RequestInfo:
        """Return the request to that URL, for the messages of errors."""
        return RequestInfo(self.call, str(self), str(url.origin()))


class Transport:
    """One registry's client of a broker: within the broker's limits, with its own connections and credentials.

    A repeatable request is retried once, and once more with another access token after 401. The work queue does all
    other retries.
    """

    def __init__(self, access: ClientConfig, clock: Clock) -> None:
        self._base = _base(access.admin_url)
        self._clock = clock
        self._fence = access.fence
        self._limits = access.limits or BrokerLimits(clock)
        self._connections = HttpConnections(access.allowed, access.credential, access.ca)
        self._identity = Identity(access.credential, self._fetch, clock)

    async def close(self) -> None:
        """Close all connections. Pending requests fail."""
        await self._connections.close()

    async def identity(self) -> Mapping[str, str]:
        """Return the authorization headers. Errors as in `Identity.headers`."""
        return await self._identity.headers()

    async def send(self, request: BrokerRequest) -> Any:
        """Return the parsed answer, or None if its body is empty. Raise the errors of the table in `error_mapping`."""
        started, outcome = self._clock.now(), "Abandoned"
        try:
            answer = await self._send(request)
        except TopicSchemaError as error:
            outcome = error.reason
            raise
        else:
            outcome = "success"
            return answer
        finally:
            telemetry.BROKER_REQUESTS.labels(request.name, outcome).inc()
            telemetry.BROKER_REQUEST_DURATION.labels(request.name).observe(self._clock.now() - started)

    async def _send(self, request: BrokerRequest) -> Any:
        """Return the answer. Raise at once while the circuit breaker is open."""
        if self._limits.breaker.is_open:
            await self._probe()
        answers = self._limits.breaker.answers
        result = await self._send_with_retry(request)
        if isinstance(result, JsonResponse):
            return result.value
        if result.is_unreachable:
            self._limits.breaker.fail(result.error, answers)
        raise result.error

    async def _probe(self) -> None:
        """Send a probe, a GET of the broker's version, if it is due. Raise unless the broker answers, with any status.

        The probe has no Pulsar namespace and no credentials. So the errors of one Pulsar namespace do not block others.
        """
        with self._limits.breaker.probe():
            url = URL(self._base + _PROBE, encoded=True)
            request = BrokerRequest("probe", CallKind.READ, "GET", _PROBE)
            await self._limits.rate.take()
            result = await self._connections.send(_exchange(request, url, {}))
            if isinstance(result, BrokerFailure) and result.is_unreachable:
                self._limits.breaker.open(result.error)
            else:
                self._limits.breaker.succeed()
        self._limits.breaker.check()

    async def _send_with_retry(self, request: BrokerRequest) -> JsonResponse | BrokerFailure:
        """Return the answer or its error. Retry once if that is safe and may help."""
        result = await self._send_authenticated(request)
        if isinstance(result, JsonResponse) or not (result.may_retry and request.is_idempotent):
            return result
        if (result.retry_after or 0.0) > _MAX_RETRY_AFTER:
            return result
        await self._clock.sleep(self._clock.spread(0.5, 1.5) * _PAUSE)
        return await self._send_authenticated(request)

    async def _send_authenticated(self, request: BrokerRequest) -> JsonResponse | BrokerFailure:
        """Return the answer or its error. After a 401, retry with another access token of the issuer."""
        try:
            headers = await self._identity.headers()
        except WaitingError as error:
            return BrokerFailure(error)
        result = await self._follow_redirects(request, headers)
        is_unauthorized = isinstance(result, BrokerFailure) and isinstance(result.error, BrokerUnauthorizedError)
        if not is_unauthorized:
            return result
        try:
            if await self._identity.renew(headers):
                result = await self._follow_redirects(request, await self._identity.headers())
        except WaitingError as error:
            return BrokerFailure(error)
        return result

    async def _follow_redirects(
        self, request: BrokerRequest, headers: Mapping[str, str]
    ) -> JsonResponse | BrokerFailure:
        """Return the answer or error of the broker that owns the resource. Other brokers redirect to it."""
        url = URL(self._base + request.path, encoded=True)
        for _ in range(_MAX_REDIRECTS + 1):
            await self._limits.rate.take()
            if request.call in error_mapping.WRITES:
                self._fence()
            exchange = _exchange(request, url, headers)
            answer = await self._connections.send(exchange)
            if isinstance(answer, BrokerFailure):
                return answer
            self._limits.breaker.succeed()
            if answer.is_good:
                return _response(answer.body, request, exchange.info)
            target = answer.next_url(url)
            if target is None:
                body = self._identity.hide(answer.body)
                failure = error_mapping.from_answer(exchange.info, answer.status, answer.headers, body)
                if failure.retry_after:
                    self._limits.rate.pause(failure.retry_after)
                return failure
            check_downgrade(url, target)
            url = target
        return error_mapping.from_non_broker_response(exchange.info, "redirected in circles")

    async def _fetch(self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]) -> tuple[int, bytes]:
        """Return status and body of a token issuer's answer. Raise the error of no answer."""
        await self._limits.rate.take()
        target = parsed_url(url)
        info = RequestInfo(CallKind.READ, f"{method} {target.host}{target.path}"[:300], str(target.origin()))
        exchange = Exchange(method, target, body, headers, _TOKEN_SECONDS, _MAX_TOKEN_BYTES, info)
        answer = await self._connections.send(exchange, to_issuer=True)
        if isinstance(answer, BrokerFailure):
            raise answer.error
        return answer.status, answer.body


def _base(admin_url: str) -> str:
    url = parsed_url(admin_url)
    if url.query_string or url.fragment:
        raise BrokerNotAllowedError("a broker's address must read http://HOST:PORT or https://HOST:PORT")
    return str(url).rstrip("/")


def _exchange(request: BrokerRequest, url: URL, headers: Mapping[str, str]) -> Exchange:
    body = None
    if request.body is not None:
        # Escaped to ASCII, so that any text can be encoded.
        body = json.dumps(request.body.value, separators=(",", ":")).encode("ascii")
        headers = {**headers, "Content-Type": "application/json"}
    return Exchange(request.method, url, body, headers, request.seconds, request.max_bytes, request.info_at(url))


def _response(body: bytes, request: BrokerRequest, info: RequestInfo) -> JsonResponse | BrokerFailure:
    if not body:
        return JsonResponse(None)
    try:
        return JsonResponse(body.decode() if request.is_text else json.loads(body))
    except (ValueError, RecursionError):
        return error_mapping.from_non_broker_response(info, "the answer is not JSON, or not all of it")
