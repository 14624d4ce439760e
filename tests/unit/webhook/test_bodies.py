"""The webhook's bodies over a real socket: bytes in flight, time limits, and content."""

import asyncio
import gzip
import json
import logging
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.kubernetes.admission import World, run_endpoint
from support.metrics import counted
from topicschema.admission.review import Review, ReviewResponse, allow
from topicschema.https import bodies
from topicschema.https.bodies import IN_FLIGHT_BYTES, Bodies, MalformedBodyError
from topicschema.webhook.server import Endpoint

MEBIBYTE = 1024 * 1024
REVIEW = {"uid": "1", "kind": {"kind": "TopicSchema"}}
ORDINARY = json.dumps({"request": REVIEW}).encode()


@dataclass(frozen=True, slots=True)
class RunningEndpoint:
    """An endpoint on a socket, whose reviewer waits for `may_respond`."""

    port: int
    bodies: Bodies
    may_respond: asyncio.Event
    senders: list["Sender"] = field(default_factory=list)

    async def start(self, start: bytes, length: int | None) -> "Sender":
        """Send the first bytes of a body, whose length is announced, or of a chunked one."""
        framing = b"Transfer-Encoding: chunked" if length is None else b"Content-Length: %d" % length
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(b"POST /review HTTP/1.1\r\nHost: webhook\r\n" + framing + b"\r\n\r\n")
        writer.write(start if length is not None else b"%x\r\n%s\r\n" % (len(start), start) if start else b"")
        self.senders.append(Sender(reader, writer))
        return self.senders[-1]

    async def status(self, body: bytes) -> int:
        """Send a whole body and return the status of the response."""
        status, _ = await (await self.start(body, len(body))).response()
        return status

    async def until_in_flight(self, size: int) -> None:
        """Return once that number of bytes counts as in flight."""
        while self.bodies.in_flight != size:  # noqa: ASYNC110 - the product has no event for it
            await asyncio.sleep(0.001)


@dataclass(frozen=True, slots=True)
class Sender:
    """A connection with a started request."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def response(self) -> tuple[int, str]:
        """Return status and text of the response, and close the connection."""
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        length = next(int(line.split(":")[1]) for line in head.splitlines() if line.startswith("Content-Length:"))
        text = (await self.reader.readexactly(length)).decode()
        self.writer.close()
        return int(head.split()[1]), text


@asynccontextmanager
async def run_bodies(seconds: float = 60.0, grace: float = 60.0) -> AsyncIterator[RunningEndpoint]:
    """Run an endpoint whose bodies may take that number of seconds."""
    limits = Bodies(seconds, grace)
    may_respond = asyncio.Event()

    async def wait(_: Review) -> ReviewResponse:
        await may_respond.wait()
        return allow()

    async with run_endpoint(Endpoint({"TopicSchema": wait}, limits)) as port:
        endpoint = RunningEndpoint(port, limits, may_respond)
        try:
            yield endpoint
        finally:
            may_respond.set()
            for sender in endpoint.senders:
                sender.writer.close()


async def test_beyond_the_bytes_in_flight_an_announced_body_gets_503_unread() -> None:
    before = counted("admission_reviews_total", kind="unknown", decision="error", reason="TooManyBytes")
    async with run_bodies() as endpoint:
        first = await endpoint.start(b"{", 15 * MEBIBYTE)
        await endpoint.until_in_flight(15 * MEBIBYTE)
        status, text = await (await endpoint.start(b"", 15 * MEBIBYTE)).response()
        assert (status, text) == (
            503,
            "topicschema: reviews under way have 15,728,640 bytes, too many to take this one, too; try again",
        )
        assert counted("admission_reviews_total", kind="unknown", decision="error", reason="TooManyBytes") == before + 1
        first.writer.close()
        await endpoint.until_in_flight(0)
        endpoint.may_respond.set()
        assert await endpoint.status(ORDINARY + b" " * (15 * MEBIBYTE)) == 200


async def test_a_chunked_body_counts_by_what_was_read() -> None:
    async with run_bodies() as endpoint:
        await endpoint.start(b"{", 15 * MEBIBYTE)
        await endpoint.until_in_flight(15 * MEBIBYTE)
        status, _ = await (await endpoint.start(b" " * (10 * MEBIBYTE), None)).response()
        assert status == 503
        await endpoint.until_in_flight(15 * MEBIBYTE)


async def test_bytes_are_in_flight_until_the_response() -> None:
    async with run_bodies() as endpoint:
        sender = await endpoint.start(ORDINARY, len(ORDINARY))
        await endpoint.until_in_flight(65_536)  # the least that a body counts for
        endpoint.may_respond.set()
        assert (await sender.response())[0] == 200
        await endpoint.until_in_flight(0)


async def test_ordinary_edits_succeed_beside_the_maximum_of_large_bodies() -> None:
    async with run_bodies() as endpoint:
        sizes = (15 * MEBIBYTE, 9 * MEBIBYTE)
        for size in sizes:
            await endpoint.start(b"{", size)
        await endpoint.until_in_flight(sum(sizes))
        assert sum(sizes) < IN_FLIGHT_BYTES
        endpoint.may_respond.set()
        assert await endpoint.status(ORDINARY + b" " * MEBIBYTE) == 503
        assert await endpoint.status(ORDINARY) == 200


@pytest.mark.parametrize("length", [60_000, None], ids=["announced", "chunked"])
async def test_an_incomplete_body_gets_408_and_its_connection_is_closed(length: int | None) -> None:
    async with run_bodies(seconds=0.1) as endpoint:
        half_sent = await endpoint.start(b"{", length)
        status, text = await half_sent.response()
        assert (status, text) == (408, "topicschema: the body was not complete in time; send it again")
        assert await half_sent.reader.read() == b""
        await endpoint.until_in_flight(0)


async def test_a_slow_body_is_preempted_by_one_that_needs_its_bytes() -> None:
    async with run_bodies(grace=0) as endpoint:
        slow, large = await endpoint.start(b"{", 15 * MEBIBYTE), 15 * MEBIBYTE
        await endpoint.until_in_flight(large)
        endpoint.may_respond.set()
        assert await endpoint.status(ORDINARY) == 200
        assert await endpoint.status(ORDINARY + b" " * (large - len(ORDINARY))) == 200
        status, _ = await slow.response()
        assert status == 408
        await endpoint.until_in_flight(0)


async def test_a_client_that_disconnects_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        async with run_bodies() as endpoint:
            half_sent = await endpoint.start(b"{", 60_000)
            await endpoint.until_in_flight(65_536)
            half_sent.writer.close()
            await endpoint.until_in_flight(0)
    assert caplog.records == []


@pytest.mark.parametrize(
    ("line", "fields", "body", "status"),
    [
        (b"/review?timeout=10s", [b"A: " + b"a" * 4_000, *[b"B: b"] * 10], ORDINARY, 200),
        (b"/review", [b"B: b"] * 20, ORDINARY, 400),
        (b"/review", [b"A: " + b"a" * 5_000], ORDINARY, 400),
        (b"/review?" + b"a" * 2_000, [], ORDINARY, 400),
        (b"/review", [b"Content-Encoding: gzip"], gzip.compress(ORDINARY), 400),
    ],
    ids=["api server", "many", "long", "long line", "compressed"],
)
async def test_many_or_long_headers_and_a_compressed_body_are_refused(
    line: bytes, fields: list[bytes], body: bytes, status: int
) -> None:
    async with run_bodies() as endpoint:
        endpoint.may_respond.set()
        reader, writer = await asyncio.open_connection("127.0.0.1", endpoint.port)
        headers = b"".join(field + b"\r\n" for field in fields)
        length = b"Content-Length: %d\r\n" % len(body)
        writer.write(b"POST %s HTTP/1.1\r\nHost: a\r\n%s%s\r\n%s" % (line, length, headers, body))
        assert (await Sender(reader, writer).response())[0] == status


@pytest.mark.parametrize(
    ("member", "message"),
    [
        ("[" + "{}," * 20_000 + "{}]", "more than 20,000 JSON values"),
        ("[" + '"",' * 500_000 + '""]', "more than 20,000 JSON values"),
        ('{"a":' * 90 + "1" + "}" * 90, "nothing of kind"),
        ('{"a":' * 100 + "1" + "}" * 100, "more than 100 levels"),
        ("[" * 100 + "]" * 100, "more than 100 levels"),
    ],
    ids=["objects", "strings", "high", "deep objects", "deep lists"],
)
async def test_a_review_of_many_values_or_levels_gets_400(world: World, member: str, message: str) -> None:
    start = '{"request":{"uid":"1","kind":{"kind":"Pod"},"object":{"a":'
    reply = await world.post(f"{start}{member}}}}}}}".encode())
    assert reply.status == 400
    assert message in reply.text


async def test_a_body_in_utf_16_gets_400(world: World) -> None:
    assert (await world.post(json.dumps({"request": REVIEW}).encode("utf-16"))).status == 400


JSON = st.recursive(
    st.none() | st.integers(-9, 9) | st.text(st.sampled_from('a"\\[]{},:é\n'), max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.sampled_from('b"\\{,'), max_size=4), inner),
    max_leaves=20,
)


def values(value: Any) -> int:
    """Return the number of values, with one more for each container: the most that the scan counts."""
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(values, members))


@given(JSON)
def test_values_are_counted_outside_of_strings(value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False).encode()
    empty = text.count(b"[]") + text.count(b"{}")
    counted = bodies._most_values(bodies._without_strings(text))
    assert values(value) <= counted <= values(value) + empty


@given(JSON)
async def test_the_parsed_value_is_that_of_json(value: Any) -> None:
    assert await bodies.parse(json.dumps(value).encode()) == value


async def test_a_schema_full_of_brackets_is_one_value() -> None:
    schema = json.dumps([{"a": ["\\", '"']}] * 60_000)
    assert await bodies.parse(json.dumps({"spec": schema}).encode()) == {"spec": schema}
    with pytest.raises(MalformedBodyError, match="values"):
        await bodies.parse(json.dumps({"spec": json.loads(schema)}).encode())


async def test_bodies_with_many_values_are_parsed_one_at_a_time_and_others_concurrently(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    running, most, may_end, parse = 0, 0, threading.Event(), bodies._parsed

    def parse_slowly(body: bytes, loads: Callable[[str], Any]) -> Any:
        nonlocal running, most
        if threading.current_thread() is not threading.main_thread():
            running += 1
            most = max(most, running)
            may_end.wait()
            running -= 1
        return parse(body, loads)

    monkeypatch.setattr(bodies, "_parsed", parse_slowly)
    many, large = json.dumps([[]] * 5_000).encode(), json.dumps("a" * MEBIBYTE).encode()
    waiting = [asyncio.create_task(bodies.parse(body)) for body in (many, large, many)]
    assert await bodies.parse(ORDINARY) == {"request": REVIEW}
    may_end.set()
    await asyncio.gather(*waiting)
    assert most == 1
