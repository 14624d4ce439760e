"""The table of responses, over a socket: for each, the error, the number of requests, and the message."""

import json
import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest
from aiohttp import web

from support.http_server import Handler
from support.pulsar.fake_broker import FakeBroker, abort_connection, send_half
from topicschema.broker.broker import Broker
from topicschema.broker.errors import (
    BrokerForbiddenError,
    BrokerInconsistentError,
    BrokerNotAllowedError,
    BrokerTLSVerificationFailedError,
    BrokerUnauthorizedError,
    BrokerUnavailableError,
    NamespaceNotFoundError,
    NotABrokerError,
    RefusedByBrokerError,
    SecretInvalidError,
    TenantNotFoundError,
    TopicNotFoundError,
)
from topicschema.core.errors import StalledAtBrokerError, StalledError, TopicSchemaError, WaitingError
from topicschema.core.remote import NamespaceSettings
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy
from topicschema.core.topics import PulsarNamespaceKey, Topic

TOPIC = Topic("shop", "orders", "created")
KEY = PulsarNamespaceKey("main", "shop", "orders")
TEXT = SchemaInfo(SchemaType.STRING)
SECRET = "a text that must not be repeated"  # noqa: S105 - it stands for a schema

Operation = Callable[[Broker], Awaitable[object]]


async def read(broker: Broker) -> object:
    return await broker.latest(TOPIC)


async def upload(broker: Broker) -> object:
    return await broker.upload(TOPIC, TEXT)


async def delete(broker: Broker) -> object:
    return await broker.soft_delete(TOPIC)


async def write(broker: Broker) -> object:
    return await broker.set_namespace(KEY, NamespaceSettings(strategy=Strategy.FULL))


async def topic(broker: Broker) -> object:
    return await broker.topic_settings(TOPIC, "persistent")


def reason(text: str) -> dict[str, str]:
    return {"reason": text}


def page(status: int, message: str) -> dict[str, str]:
    return {"servlet": "s-7f3c", "message": message, "url": "/admin/v2", "status": str(status)}


def crash(message: str, stack: str = "java.lang.RuntimeException: x") -> dict[str, str]:
    banner = "\n --- An unexpected error occurred in the server ---\n\n"
    return reason(f"{banner}Message: {message}\n\nStacktrace:\n\n{stack}")


BAD_DEFAULT = f'Invalid default for field x: "{SECRET}" not a "int"'
AVRO = "org.apache.avro.AvroTypeException: x"
UNREADABLE = (
    f"Error during check: org.apache.avro.SchemaValidationException: Unable to read schema: \n{{ &quot;{SECRET}"
)
AWAY, FORBIDDEN, UNKNOWN = BrokerUnavailableError, BrokerForbiddenError, BrokerUnauthorizedError
REFUSED, OTHER = RefusedByBrokerError, NotABrokerError

Row = tuple[Operation, int, object, type[TopicSchemaError], int]
# The operation, status, body, the error, and the number of requests.
TABLE: list[Row] = [
    (read, 401, page(401, "Authentication required"), UNKNOWN, 1),
    (read, 401, reason("Token expired"), UNKNOWN, 1),
    (read, 401, reason("This operation requires super-user access"), FORBIDDEN, 1),
    (read, 401, reason("Unauthorized to validateTopicOperation for operation [GET_METADATA] on topic"), FORBIDDEN, 1),
    (delete, 401, reason("Don't have permission to administrate resources on this tenant"), FORBIDDEN, 1),
    (write, 403, reason("Unauthorized to validateNamespacePolicyOperation for operation [WRITE]"), FORBIDDEN, 1),
    (read, 403, "<html>blocked by the gateway</html>", FORBIDDEN, 1),
    (read, 404, reason("Tenant does not exist"), TenantNotFoundError, 1),
    (delete, 404, reason("Tenant not found"), TenantNotFoundError, 1),
    (write, 404, reason("Namespace does not exist"), NamespaceNotFoundError, 1),
    (topic, 404, reason("Namespace not found"), NamespaceNotFoundError, 1),
    (topic, 404, reason("Topic persistent://shop/orders/created not found"), TopicNotFoundError, 1),
    (read, 404, page(404, "Not Found"), OTHER, 1),
    (read, 404, "", OTHER, 1),
    (read, 404, "<html>Topic x not found, Schema not found</html>", OTHER, 1),
    (upload, 409, page(409, UNREADABLE), REFUSED, 1),
    (upload, 409, "", REFUSED, 1),
    (write, 409, reason("Concurrent modification"), AWAY, 2),
    (upload, 409, reason("Concurrent modification"), AWAY, 2),
    (delete, 409, reason("Concurrent modification"), AWAY, 1),
    (read, 412, reason("Topic name is not valid"), REFUSED, 1),
    (read, 412, reason("Failed to find ownership for topic"), AWAY, 2),
    (upload, 413, "too large", REFUSED, 1),
    (upload, 422, page(422, f"Invalid schema definition data for string schema : &apos;{SECRET}&apos;"), REFUSED, 1),
    (upload, 400, f"Unexpected character at {SECRET}", REFUSED, 1),
    (write, 405, page(405, "Method Not Allowed"), REFUSED, 1),
    (read, 405, page(405, "Method Not Allowed"), OTHER, 1),
    (topic, 405, reason("Topic level policies is disabled, to enable the topic level policy and retry."), REFUSED, 1),
    (read, 406, "", OTHER, 1),
    (read, 408, "slow", AWAY, 2),
    (read, 429, "slow down", AWAY, 2),
    (upload, 500, crash(BAD_DEFAULT, AVRO), REFUSED, 1),
    (upload, 500, crash("Type not supported: object"), REFUSED, 1),
    (upload, 500, crash("Can not resolve JsonSchema 'type' id"), REFUSED, 1),
    (upload, 500, crash("No enum constant org.apache.pulsar.SchemaType.NOPE"), REFUSED, 1),
    (upload, 500, crash("null", "java.lang.NullPointerException: null"), REFUSED, 1),
    (upload, 500, crash("null", "java.lang.StackOverflowError: null"), REFUSED, 1),
    (upload, 500, crash("Not enough non-faulty bookies available"), AWAY, 2),
    (read, 500, crash("Not enough non-faulty bookies available"), AWAY, 2),
    (read, 500, crash(BAD_DEFAULT, AVRO), AWAY, 2),
    (delete, 500, crash("metadata store is away"), AWAY, 1),
    (read, 502, "<html>bad gateway</html>", AWAY, 2),
    (read, 503, "<html>starting</html>", AWAY, 2),
    (delete, 503, "", AWAY, 1),
    (upload, 504, "", AWAY, 2),
    (read, 302, "elsewhere", OTHER, 1),
    (read, 200, "<html>a login page</html>", OTHER, 1),
    (read, 200, '{"version": 1, "type": "AV', OTHER, 1),
    (read, 200, "[" * 100_000, OTHER, 1),
    (read, 200, {"version": 1}, AWAY, 1),
    (read, 200, "", AWAY, 1),
    (read, 200, [], AWAY, 1),
    (read, 200, {"version": 0, "type": "EXTERNAL", "data": SECRET}, StalledAtBrokerError, 1),
    (upload, 200, {"version": True}, AWAY, 1),
    (upload, 200, "", AWAY, 1),
]


PAGE = (Path(__file__).parents[3] / "docs" / "broker.md").read_text()
ANSWERS = PAGE.partition("## Responses")[2].partition("\n## ")[0]
MANUAL = [[cell.strip("| ") for cell in line.split(" |")] for line in ANSWERS.splitlines() if line.startswith("| ")]
REDIRECTED = 3


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row[0].__name__}-{row[1]}")
async def test_each_response_has_the_error_of_the_manual_and_repeats_no_schema(
    wire: FakeBroker, broker: Broker, row: Row
) -> None:
    operation, status, body, expected, times = row
    wire.respond_with(status, body)
    with pytest.raises(TopicSchemaError) as caught:
        await operation(broker)
    assert type(caught.value) is expected
    sent = [each for each in wire.request_lines if not each.endswith("/namespaces/shop")]
    assert len(sent) == times
    assert SECRET not in caught.value.message
    assert len(caught.value.message) < 400
    if expected is not StalledAtBrokerError:
        lines = manual_of(status, expected)
        assert lines
        assert {line[2].startswith("yes") for line in lines} == {times > 1} or (operation is delete and times == 1)


def manual_of(status: int, error: type[TopicSchemaError]) -> list[list[str]]:
    """Return the lines of the manual with that error, first those that name the status."""
    reason = f"`{error.__name__.removesuffix('Error')}`"
    kind = "redirect" if status // 100 == REDIRECTED else f"{status // 100}xx"
    for label in (str(status), kind):
        lines = [line for line in MANUAL if label in line[0] and reason in line[1]]
        if lines:
            return lines
    return []


def test_every_status_in_the_manual_is_tested_here() -> None:
    statuses = {int(number) for answer, *_ in MANUAL for number in re.findall(r"\b[2-5]\d\d\b", answer)}
    assert statuses - {307, 308} <= {row[1] for row in TABLE}


@pytest.mark.parametrize("text", ["Schema not found", "Schema is deleted"])
async def test_a_topic_without_a_schema_is_one_whose_broker_reports_it(
    wire: FakeBroker, broker: Broker, text: str
) -> None:
    wire.respond_with(404, reason(text))
    assert await broker.latest(TOPIC) is None
    assert await broker.version(TOPIC, 7) is None


async def test_the_message_of_an_error_is_short_and_has_the_reason(wire: FakeBroker, broker: Broker) -> None:
    for status, body, text in (
        (409, page(409, UNREADABLE), "409 Error during check: SchemaValidationException: Unable to read schema"),
        (409, json.dumps(page(409, UNREADABLE)).replace("\\n", "\n"), "Unable to read schema"),  # of Pulsar 4.2
        (409, page(409, "Incompatible schema: exists schema type AVRO, new schema type JSON"), "new schema type JSON"),
        (422, page(422, "Invalid schema definition data for AVRO"), "422 Invalid schema definition data for AVRO"),
        (500, crash(BAD_DEFAULT, AVRO), "500 Invalid default for field x"),
        (409, "", "409 Conflict"),
    ):
        wire.clear()
        wire.respond_with(status, body)
        with pytest.raises(RefusedByBrokerError, match="POST /admin/v2/schemas/shop/orders/created/schema: ") as caught:
            await broker.upload(TOPIC, TEXT)
        assert text in caught.value.message
        assert caught.value.status == status


@pytest.mark.parametrize("hostile", ["\x1bc", "\x9b31m", "\b", "\u202e"], ids=["ESC", "C1", "backspace", "bidi"])
async def test_the_message_of_an_error_has_no_control_character(wire: FakeBroker, broker: Broker, hostile: str) -> None:
    wire.respond_with(403, reason(f"no {hostile}rights"))
    with pytest.raises(TopicSchemaError, match="rights") as caught:
        await broker.latest(TOPIC)
    assert caught.value.message.isprintable()


async def test_a_schema_repeated_as_the_status_line_does_not_hide_a_refusal(wire: FakeBroker, broker: Broker) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(status=409, reason="Unable to read schema: " + "?" * 200_000, text="")

    wire.handlers.append(answer)
    with pytest.raises(RefusedByBrokerError):
        await broker.upload(TOPIC, TEXT)


@pytest.mark.parametrize(("answer", "message"), [(abort_connection, "connection"), (send_half, "half way")])
async def test_a_request_whose_connection_ends_is_tried_once_more(
    wire: FakeBroker, broker: Broker, answer: Handler, message: str
) -> None:
    wire.handlers.append(answer)
    with pytest.raises(BrokerUnavailableError, match=message):
        await broker.latest(TOPIC)
    assert len(wire.requests) == 2


async def test_a_request_that_succeeds_at_the_second_try_is_no_error(wire: FakeBroker, broker: Broker) -> None:
    wire.handlers.append(abort_connection)
    wire.respond_with(200, {"version": {"version": 3}})
    assert await broker.upload(TOPIC, TEXT) == 3
    assert len(wire.requests) == 2


@pytest.mark.parametrize(
    ("retry_after", "after"),
    [
        ("nan", 5.0),
        ("inf", 60.0),
        ("-1", 0.0),
        ("soon", 5.0),
        ("Wed, 21 Oct 2026 07:28:20 GMT", 20.0),
        ("Wednesday, 21-Oct-26 07:28:20 GMT", 20.0),
        ("Wed Oct 21 07:28:20 2026", 20.0),
        ("Wed, 21 Oct 2026 09:28:20 GMT", 60.0),
        ("Wed, 21 Oct 2026 07:27:00 GMT", 0.0),
        ("Wed, 41 Oct 2026 07:28:20 GMT", 5.0),
        ("Wed, 21 Oct 99999999999999999999 07:28:20 GMT", 5.0),
    ],
)
async def test_retry_after_is_a_number_of_seconds_or_a_date(
    wire: FakeBroker, broker: Broker, retry_after: str, after: float
) -> None:
    wire.respond_with(503, "", Retry_After=retry_after, Date="Wed, 21 Oct 2026 07:28:00 GMT")
    with pytest.raises(BrokerUnavailableError) as caught:
        await broker.soft_delete(TOPIC)
    assert caught.value.after == after


async def test_a_date_without_the_date_of_the_response_is_compared_with_the_own_clock(
    wire: FakeBroker, broker: Broker
) -> None:
    tomorrow = format_datetime(datetime.now(UTC) + timedelta(days=1), usegmt=True)
    wire.respond_with(503, "", Retry_After=tomorrow, Date="none")
    with pytest.raises(BrokerUnavailableError) as caught:
        await broker.soft_delete(TOPIC)
    assert caught.value.after == 60.0


@pytest.mark.parametrize(
    ("status", "after"), [(408, 40.0), (429, 40.0), (500, 5.0), (502, 40.0), (503, 40.0), (504, 40.0)]
)
async def test_retry_after_of_the_broker_or_of_a_proxy_is_the_delay(
    wire: FakeBroker, broker: Broker, status: int, after: float
) -> None:
    wire.respond_with(status, "", Retry_After="40")
    with pytest.raises(BrokerUnavailableError) as caught:
        await broker.soft_delete(TOPIC)
    assert caught.value.after == after


async def test_a_deletion_is_never_sent_twice(wire: FakeBroker, broker: Broker) -> None:
    wire.handlers.append(abort_connection)
    with pytest.raises(BrokerUnavailableError):
        await broker.soft_delete(TOPIC)
    assert len(wire.requests) == 1


async def test_a_missing_tenant_and_a_missing_namespace_are_different_errors(wire: FakeBroker, broker: Broker) -> None:
    wire.respond_with(404, reason("Namespace does not exist"))
    wire.respond_with(404, reason("Tenant not found"))
    with pytest.raises(TenantNotFoundError):
        await broker.namespace_settings(KEY)
    wire.clear()
    wire.respond_with(404, reason("Namespace does not exist"))
    wire.respond_with(200, ["shop/other"])
    with pytest.raises(NamespaceNotFoundError):
        await broker.upload(TOPIC, TEXT)


def test_what_a_person_must_mend_stalls_and_everything_else_waits() -> None:
    assert issubclass(RefusedByBrokerError, StalledError)
    assert issubclass(BrokerNotAllowedError, StalledError)
    waiting = (AWAY, FORBIDDEN, UNKNOWN, BrokerTLSVerificationFailedError, TenantNotFoundError, NamespaceNotFoundError)
    for error in (*waiting, TopicNotFoundError, BrokerInconsistentError, SecretInvalidError):
        assert issubclass(error, WaitingError)
