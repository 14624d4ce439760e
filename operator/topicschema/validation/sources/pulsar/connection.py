"""Connection to a broker for the messages of one reader, over plain sockets and in bounded time.

A reader is a consumer with a non-durable subscription: the broker stores it in memory and forgets it with the
connection. It demands an error if the topic does not exist (`force_topic_creation` false). Pulsar's own clients cannot
demand this: they create a topic again that is deleted while they read. Nothing is ever acknowledged.
"""

import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from topicschema.validation.errors import SourceError
from topicschema.validation.sources.pulsar import protocol
from topicschema.validation.sources.pulsar import pulsar_api_pb2 as api
from topicschema.validation.sources.pulsar.errors import SourceDeletedError, SourceRefusedError, refused
from topicschema.validation.sources.pulsar.ranges import Position

CONNECT_SECONDS: Final = 10.0
ANSWER_SECONDS: Final = 20.0
_RECEIVED_BYTES: Final = 1 << 20
_MAX_COMMAND: Final = 1 << 20
_PORTS: Final = {"pulsar": 6650, "pulsar+ssl": 6651}
_REDIRECTS: Final = 8
_CONSUMER: Final = 1
_REQUEST: Final = 1
_REFUSED: Final = frozenset({api.AuthenticationError, api.AuthorizationError, api.NotAllowedError})


class LostError(Exception):
    """End of the connection, or of its reader by the broker. Another reader may continue at the same position."""


@dataclass(frozen=True, slots=True)
class BrokerEndpoint:
    """Address of brokers and credentials of the run: service URL, method and token, and TLS if the URL requires it."""

    service_url: str
    method: str = ""
    token: bytes = field(default=b"", repr=False)
    tls: ssl.SSLContext | None = field(default=None, repr=False)

    def addresses(self) -> Iterator[tuple[str, int]]:
        """Yield the hosts and ports of the URL, which may name several. Raises SourceError if it is invalid."""
        scheme, _, hosts = self.service_url.partition("://")
        if scheme not in _PORTS or not hosts:
            raise SourceError(
                "the address must read pulsar://HOST:PORT or pulsar+ssl://HOST:PORT", self.service_url[:200]
            )
        for each in hosts.rstrip("/").split(","):
            yield _address(f"{scheme}://{each}")


class BrokerConnection:
    """One connection to a broker.

    Raises SourceRefusedError or LostError if it cannot be opened, and SourceError if the server is not a broker.
    """

    def __init__(self, endpoint: BrokerEndpoint, address: tuple[str, int], proxied: str = "") -> None:
        self._endpoint = endpoint
        self.address = address
        self._place = f"{address[0]}:{address[1]}"
        self._rest = b""
        self._socket = _socket(endpoint, address)
        try:
            self._introduce(proxied)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the connection. The broker forgets its reader."""
        self._socket.close()

    def owner(self, topic: str, *, authoritative: bool) -> "TopicOwner":
        """Return the owner of the topic, or a broker for the next lookup."""
        request = api.CommandLookupTopic(topic=topic, request_id=_REQUEST, authoritative=authoritative)
        self.send(api.BaseCommand(type=api.BaseCommand.LOOKUP, lookupTopic=request))
        response = self._answer(api.BaseCommand.LOOKUP_RESPONSE, topic).lookupTopicResponse
        if response.response == api.CommandLookupTopicResponse.Failed:
            raise self._failure(response, topic)
        url = response.brokerServiceUrl if self._endpoint.tls is None else response.brokerServiceUrlTls
        return TopicOwner(
            url.decode(errors="replace"),
            response.authoritative,
            response.proxy_through_service_url,
            is_owner=response.response == api.CommandLookupTopicResponse.Connect,
        )

    def subscribe(self, topic: str, name: str, first: Position) -> None:
        """Subscribe the reader at that entry, or at the one before it."""
        request = api.CommandSubscribe(
            topic=topic,
            subscription=name,
            subType=api.CommandSubscribe.Exclusive,
            consumer_id=_CONSUMER,
            request_id=_REQUEST,
            durable=False,
            start_message_id=api.MessageIdData(ledgerId=first.ledger, entryId=first.entry - 1),
            read_compacted=False,
            force_topic_creation=False,
        )
        self.send(api.BaseCommand(type=api.BaseCommand.SUBSCRIBE, subscribe=request))
        self._answer(api.BaseCommand.SUCCESS, topic)

    def permit(self, messages: int) -> None:
        """Allow the broker to send more messages, by this number."""
        self.send(
            api.BaseCommand(
                type=api.BaseCommand.FLOW, flow=api.CommandFlow(consumer_id=_CONSUMER, messagePermits=messages)
            )
        )

    def request_last(self) -> None:
        """Request the last message for a reader. The response arrives between the messages."""
        request = api.CommandGetLastMessageId(consumer_id=_CONSUMER, request_id=_REQUEST)
        self.send(api.BaseCommand(type=api.BaseCommand.GET_LAST_MESSAGE_ID, getLastMessageId=request))

    def send(self, command: api.BaseCommand) -> None:
        """Send a command. Raises LostError if the connection is broken."""
        try:
            self._socket.settimeout(ANSWER_SECONDS)
            self._socket.sendall(protocol.frame(command))
        except OSError as error:
            raise LostError(_why(error)) from None

    def receive(self, seconds: float) -> bytes:
        """Return received bytes, not aligned to frames, or b"" if none arrive within the time.

        Raises LostError if the broker closed the connection.
        """
        if self._rest:
            rest, self._rest = self._rest, b""
            return rest
        try:
            self._socket.settimeout(seconds)
            content = self._socket.recv(_RECEIVED_BYTES)
        except (TimeoutError, ssl.SSLWantReadError):
            return b""
        except OSError as error:
            raise LostError(_why(error)) from None
        if not content:
            raise LostError("the broker closed the connection")
        return content

    def handle_command(self, command: api.BaseCommand) -> None:
        """Execute a command that is not a message. Raises LostError if it closes the reader."""
        if command.type == api.BaseCommand.PING:
            self.send(api.BaseCommand(type=api.BaseCommand.PONG, pong=api.CommandPong()))
        elif command.type == api.BaseCommand.AUTH_CHALLENGE:
            proof = api.AuthData(auth_method_name=self._endpoint.method, auth_data=self._endpoint.token)
            error = api.CommandAuthResponse(
                client_version=protocol.CLIENT_VERSION, response=proof, protocol_version=protocol.PROTOCOL_VERSION
            )
            self.send(api.BaseCommand(type=api.BaseCommand.AUTH_RESPONSE, authResponse=error))
        elif command.type in {api.BaseCommand.CLOSE_CONSUMER, api.BaseCommand.TOPIC_MIGRATED}:
            raise LostError("the broker closed the reader")
        elif command.type == api.BaseCommand.ERROR:
            raise self._failure(command.error, self._place)

    def _failure(self, error: api.CommandError | api.CommandLookupTopicResponse, place: str) -> Exception:
        """Return the error for a broker's response. Its message names topics and roles, never credentials."""
        words = error.message.decode(errors="replace")[:300]
        if error.error in _REFUSED:
            return refused(
                f"the broker refuses the reader: {words}", place, shows_credentials=bool(self._endpoint.method)
            )
        if error.error == api.TopicNotFound:
            return SourceDeletedError("the topic was deleted after the run began", place)
        return LostError(f"the broker says error {error.error}: {words}")

    def _introduce(self, proxied: str) -> None:
        request = api.CommandConnect(
            client_version=protocol.CLIENT_VERSION,
            protocol_version=protocol.PROTOCOL_VERSION,
            proxy_to_broker_url=proxied or None,
            feature_flags=api.FeatureFlags(supports_auth_refresh=True),
        )
        if self._endpoint.method:
            request.auth_method_name, request.auth_data = self._endpoint.method, self._endpoint.token
        self.send(api.BaseCommand(type=api.BaseCommand.CONNECT, connect=request))
        self._answer(api.BaseCommand.CONNECTED, self._place)

    def _answer(self, kind: api.BaseCommand.Type, place: str) -> api.BaseCommand:
        """Return the response to a request, before messages are permitted that could arrive between."""
        held = b""
        while True:
            content = self.receive(ANSWER_SECONDS)
            if not content:
                raise LostError(f"{place}: the broker does not answer within {ANSWER_SECONDS:.0f} s")
            held += content
            while len(held) >= 8 and len(held) >= 4 + int.from_bytes(held[:4], "big"):  # noqa: PLR2004 - two sizes
                size = 4 + int.from_bytes(held[:4], "big")
                command = _command(held[8:size], place)
                held = held[size:]
                if command.type == kind:
                    self._rest = held
                    return command
                if command.type == api.BaseCommand.ERROR:
                    raise self._failure(command.error, place)
                self.handle_command(command)
            if int.from_bytes(held[:4], "big") > _MAX_COMMAND:  # for instance HTTP's first letters
                raise SourceError("what answers is no broker", place)


@dataclass(frozen=True, slots=True)
class TopicOwner:
    """Result of a lookup: the owner of the topic, or another broker that knows it."""

    url: str
    authoritative: bool
    is_proxied: bool
    is_owner: bool


def connected(endpoint: BrokerEndpoint, topic: str) -> BrokerConnection:
    """Return a connection to the broker that owns the topic."""
    authoritative, url, proxied = False, "", ""
    for _ in range(_REDIRECTS):
        connection = _any(endpoint, url, proxied)
        try:
            owner = connection.owner(topic, authoritative=authoritative)
        except BaseException:
            connection.close()
            raise
        authoritative, url = owner.authoritative, owner.url
        proxied = urlsplit(url).netloc if owner.is_proxied else ""
        if owner.is_owner and connection.address == _address(url):  # a standalone broker calls itself a proxy
            return connection
        connection.close()
        if owner.is_owner:
            return _any(endpoint, url, proxied)
    raise SourceError("the brokers lead in circles", topic)


def _any(endpoint: BrokerEndpoint, url: str, proxied: str) -> BrokerConnection:
    """Return a connection to the broker, through the service URL if that is a proxy.

    If `url` is "", it connects to any broker.
    """
    addresses = [_address(url)] if url and not proxied else list(endpoint.addresses())
    for number, address in enumerate(addresses, 1):
        try:
            return BrokerConnection(endpoint, address, proxied)
        except LostError:
            if number == len(addresses):
                raise
    raise SourceError("the address names no host", endpoint.service_url)


def _address(url: str) -> tuple[str, int]:
    try:
        parts = urlsplit(url)
        return parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        raise SourceError("that is no address of a broker", url[:200]) from None


def _socket(endpoint: BrokerEndpoint, address: tuple[str, int]) -> socket.socket:
    place = f"{address[0]}:{address[1]}"
    try:
        plain = socket.create_connection(address, CONNECT_SECONDS)
    except OSError as error:
        raise LostError(f"{place}: {_why(error)}") from None
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if endpoint.tls is None:
        return plain
    try:
        return endpoint.tls.wrap_socket(plain, server_hostname=address[0])
    except ssl.SSLCertVerificationError as error:
        plain.close()
        raise SourceRefusedError(f"the broker's certificate is not trusted: {error.verify_message}", place) from None
    except OSError as error:
        plain.close()
        raise LostError(f"{place}: {_why(error)}") from None


def _command(content: bytes, place: str) -> api.BaseCommand:
    try:
        return protocol.parse(content)
    except ValueError:
        raise SourceError("what answers is no broker", place) from None


def _why(error: OSError) -> str:
    return (error.strerror or type(error).__name__)[:200]
