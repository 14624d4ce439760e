"""The table of answers, at the wire: for each, our error, whether it is asked again, and what a person reads."""

import json
import re
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest
from aiohttp import web

from support.pulsar.broker_answers import (
    AVRO,
    AWAY,
    BAD_DEFAULT,
    FORBIDDEN,
    KEY,
    SECRET,
    TABLE,
    TEXT,
    TOPIC,
    UNKNOWN,
    UNREADABLE,
    Row,
    crash,
    delete,
    page,
    reason,
)
from support.pulsar.fake_broker import Answer, PlayedBroker, half, reset
from topicschema.broker.broker import Broker
from topicschema.broker.errors import (
    BrokerInconsistentError,
    BrokerNotAllowedError,
    BrokerTLSVerificationFailedError,
    BrokerUnavailableError,
    NamespaceNotFoundError,
    RefusedByBrokerError,
    SecretInvalidError,
    TenantNotFoundError,
    TopicNotFoundError,
)
from topicschema.core.errors import StalledAtBrokerError, StalledError, TopicSchemaError, WaitingError

PAGE = (Path(__file__).parents[3] / "docs" / "broker.md").read_text()
ANSWERS = PAGE.partition("## Responses")[2].partition("\n## ")[0]
MANUAL = [[cell.strip("| ") for cell in line.split(" |")] for line in ANSWERS.splitlines() if line.startswith("| ")]
REDIRECTED = 3


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row[0].__name__}-{row[1]}")
async def test_each_answer_has_the_meaning_of_the_manual_and_repeats_no_schema(
    wire: PlayedBroker, broker: Broker, row: Row
) -> None:
    ask, status, body, expected, times = row
    wire.says(status, body)
    with pytest.raises(TopicSchemaError) as caught:
        await ask(broker)
    assert type(caught.value) is expected
    sent = [each for each in wire.asked if not each.endswith("/namespaces/shop")]
    assert len(sent) == times
    assert SECRET not in caught.value.message
    assert len(caught.value.message) < 400
    if expected is not StalledAtBrokerError:
        lines = manual_of(status, expected)
        assert lines
        assert {line[2].startswith("yes") for line in lines} == {times > 1} or (ask is delete and times == 1)


def manual_of(status: int, error: type[TopicSchemaError]) -> list[list[str]]:
    """The lines of the manual about that answer with that reason; first those that name the status."""
    told = f"`{error.__name__.removesuffix('Error')}`"
    kind = "redirect" if status // 100 == REDIRECTED else f"{status // 100}xx"
    for called in (str(status), kind):
        found = [line for line in MANUAL if called in line[0] and told in line[1]]
        if found:
            return found
    return []


def test_the_manual_s_table_has_no_answer_that_is_not_tried_here() -> None:
    told = {int(number) for answer, *_ in MANUAL for number in re.findall(r"\b[2-5]\d\d\b", answer)}
    assert told - {307, 308} <= {row[1] for row in TABLE}


@pytest.mark.parametrize("text", ["Schema not found", "Schema is deleted"])
async def test_there_is_no_schema_only_where_the_broker_itself_says_so(
    wire: PlayedBroker, broker: Broker, text: str
) -> None:
    wire.says(404, reason(text))
    assert await broker.latest(TOPIC) is None
    assert await broker.version(TOPIC, 7) is None


async def test_the_words_of_an_error_are_few_and_say_what_it_is(wire: PlayedBroker, broker: Broker) -> None:
    for status, body, told in (
        (409, page(409, UNREADABLE), "409 Error during check: SchemaValidationException: Unable to read schema"),
        (409, json.dumps(page(409, UNREADABLE)).replace("\\n", "\n"), "Unable to read schema"),  # of Pulsar 4.2
        (409, page(409, "Incompatible schema: exists schema type AVRO, new schema type JSON"), "new schema type JSON"),
        (
            422,
            page(422, "Invalid schema definition data for AVRO schema"),
            "422 Invalid schema definition data for AVRO",
        ),
        (500, crash(BAD_DEFAULT, AVRO), "500 Invalid default for field x"),
        (409, "", "409 Conflict"),
    ):
        wire.forgets()
        wire.says(status, body)
        with pytest.raises(RefusedByBrokerError, match="POST /admin/v2/schemas/shop/orders/created/schema: ") as caught:
            await broker.upload(TOPIC, TEXT)
        assert told in caught.value.message
        assert caught.value.status == status


@pytest.mark.parametrize("hostile", ["\x1bc", "\x9b31m", "\b", "\u202e"], ids=["ESC", "C1", "backspace", "bidi"])
async def test_the_words_of_an_error_hold_no_character_that_a_terminal_obeys(
    wire: PlayedBroker, broker: Broker, hostile: str
) -> None:
    wire.says(403, reason(f"no {hostile}rights"))
    with pytest.raises(TopicSchemaError, match="rights") as caught:
        await broker.latest(TOPIC)
    assert caught.value.message.isprintable()


async def test_a_schema_repeated_as_the_status_line_does_not_hide_a_refusal(wire: PlayedBroker, broker: Broker) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(status=409, reason="Unable to read schema: " + "?" * 200_000, text="")

    wire.answers.append(answer)
    with pytest.raises(RefusedByBrokerError):
        await broker.upload(TOPIC, TEXT)


@pytest.mark.parametrize(("answer", "told"), [(reset, "connection"), (half, "half way")])
async def test_a_connection_that_ends_is_tried_once_more(
    wire: PlayedBroker, broker: Broker, answer: Answer, told: str
) -> None:
    wire.answers.append(answer)
    with pytest.raises(BrokerUnavailableError, match=told):
        await broker.latest(TOPIC)
    assert len(wire.requests) == 2


async def test_a_request_that_passes_at_the_second_try_is_no_error(wire: PlayedBroker, broker: Broker) -> None:
    wire.answers.append(reset)
    wire.says(200, {"version": {"version": 3}})
    assert await broker.upload(TOPIC, TEXT) == 3
    assert len(wire.requests) == 2


@pytest.mark.parametrize(
    ("told", "after"),
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
async def test_what_is_to_be_waited_for_is_a_number_of_seconds_or_a_date(
    wire: PlayedBroker, broker: Broker, told: str, after: float
) -> None:
    wire.says(503, "", Retry_After=told, Date="Wed, 21 Oct 2026 07:28:00 GMT")
    with pytest.raises(BrokerUnavailableError) as caught:
        await broker.soft_delete(TOPIC)
    assert caught.value.after == after


async def test_a_date_without_the_answer_s_own_is_by_our_clock(wire: PlayedBroker, broker: Broker) -> None:
    wire.says(503, "", Retry_After=format_datetime(datetime.now(UTC) + timedelta(days=1), usegmt=True), Date="none")
    with pytest.raises(BrokerUnavailableError) as caught:
        await broker.soft_delete(TOPIC)
    assert caught.value.after == 60.0


@pytest.mark.parametrize(
    ("status", "after"), [(408, 40.0), (429, 40.0), (500, 5.0), (502, 40.0), (503, 40.0), (504, 40.0)]
)
async def test_who_asks_to_be_left_alone_may_be_the_broker_or_a_proxy_before_it(
    wire: PlayedBroker, broker: Broker, status: int, after: float
) -> None:
    wire.says(status, "", Retry_After="40")
    with pytest.raises(BrokerUnavailableError) as caught:
        await broker.soft_delete(TOPIC)
    assert caught.value.after == after


async def test_a_deletion_is_never_sent_twice(wire: PlayedBroker, broker: Broker) -> None:
    wire.answers.append(reset)
    wire.says(200, {"version": 1})
    with pytest.raises(BrokerUnavailableError):
        await broker.soft_delete(TOPIC)
    assert len(wire.requests) == 1


async def test_a_tenant_that_is_missing_is_told_from_a_namespace(wire: PlayedBroker, broker: Broker) -> None:
    wire.says(404, reason("Namespace does not exist"))
    wire.says(404, reason("Tenant not found"))
    with pytest.raises(TenantNotFoundError):
        await broker.namespace_settings(KEY)
    wire.forgets()
    wire.says(404, reason("Namespace does not exist"))
    wire.says(200, ["shop/other"])
    with pytest.raises(NamespaceNotFoundError):
        await broker.upload(TOPIC, TEXT)


def test_what_a_person_must_mend_stalls_and_everything_else_waits() -> None:
    assert issubclass(RefusedByBrokerError, StalledError)
    assert issubclass(BrokerNotAllowedError, StalledError)
    waiting = (AWAY, FORBIDDEN, UNKNOWN, BrokerTLSVerificationFailedError, TenantNotFoundError, NamespaceNotFoundError)
    for error in (*waiting, TopicNotFoundError, BrokerInconsistentError, SecretInvalidError):
        assert issubclass(error, WaitingError)
