"""A span is read to its last entry whatever the connection does on the way."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from support.pulsar.fake_reader_broker import (
    Action,
    FakeReaderBroker,
    chunk,
    do_nothing,
    message,
    run_fake_reader_broker,
    single,
)
from support.pulsar.wire import encode_members
from topicschema.core.topics import Topic
from topicschema.validation.sources import Expired, NotDelivered
from topicschema.validation.sources.pulsar import reader, span_reader
from topicschema.validation.sources.pulsar.admin import Admin
from topicschema.validation.sources.pulsar.errors import SourceSilentError
from topicschema.validation.sources.pulsar.ranges import EntryRange, Span
from topicschema.validation.sources.pulsar.reader import ReaderOptions

QUIET = 0.3
LONGER_THAN_QUIET = 0.4
PATIENT = 60.0
Send = Callable[[bytes], object]


@contextmanager
def soon_quiet(timeout: float) -> Iterator[None]:
    """Shorten the product's pauses for readers with the long timeout."""
    with pytest.MonkeyPatch.context() as patch:
        if timeout == PATIENT:
            patch.setattr(span_reader, "QUIET_SECONDS", QUIET)
            patch.setattr(span_reader, "_PAUSE_SECONDS", 0.05)
        yield


def payloads(
    broker: FakeReaderBroker, timeout: float = PATIENT, first: int = 0, entries: int | None = None
) -> list[bytes]:
    """Return the payloads that a reader of that number of entries from `first` on receives, by default of all."""
    count = broker.entries - first if entries is None else entries
    span = Span("persistent://shop/live/orders", 0, (EntryRange(3, first, count),))
    contents: list[bytes] = []
    with run_fake_reader_broker(broker) as source, soon_quiet(timeout):
        options = ReaderOptions(has_keys=False, timeout=timeout)
        with Admin(source) as admin:
            for batch in reader.read(admin, options, span, Topic.parse(span.topic)):
                assert not isinstance(batch, Expired)
                rows = [] if isinstance(batch, NotDelivered) else batch.to_pylist()
                contents.extend(row["payload"] for row in rows)
    return contents


def sending(entry: int, after: float = 0.0) -> Action:
    def happens(send: Send) -> None:
        time.sleep(after)
        send(message(entry, b"%d" % entry))

    return happens


def hanging_up(send: Send) -> None:
    raise ConnectionResetError


def test_a_reader_waits_for_reads_that_are_pending_until_the_next_ledger_opens() -> None:
    broker = FakeReaderBroker(entries=3, reads_next=3, pending_reads=1, on_subscribe=[sending(0)])

    def opens(send: Send) -> None:
        broker.pending_reads = 0
        send(message(1, b"1") + message(2, b"2"))

    broker.on_last_message = [do_nothing, opens]
    assert payloads(broker) == [b"0", b"1", b"2"]


def _unread(broker: FakeReaderBroker, *entry_ranges: EntryRange) -> list[Expired | NotDelivered]:
    """Return the results of a reader of these entries that are no messages."""
    span = Span("persistent://shop/live/orders", 0, entry_ranges, messages_per_entry=10.0)
    with run_fake_reader_broker(broker) as source, soon_quiet(PATIENT), Admin(source) as admin:
        options = ReaderOptions(has_keys=False, timeout=PATIENT)
        results = reader.read(admin, options, span, Topic.parse(span.topic))
        return [each for each in results if isinstance(each, Expired | NotDelivered)]


def test_messages_of_a_transaction_that_ends_after_the_last_message_request_are_read() -> None:
    broker = FakeReaderBroker(entries=3, reads_next=1, on_subscribe=[sending(0)], transactions=1, last_visible=0)

    def ends(send: Send) -> None:
        broker.transactions = 0
        sending(1)(send)

    def shows_all(send: Send) -> None:
        broker.last_visible = None
        sending(2)(send)

    broker.on_last_message = [ends, shows_all]
    assert payloads(broker) == [b"0", b"1", b"2"]


def test_a_reader_that_has_all_entries_waits_for_nothing_more() -> None:
    def all_at_once(send: Send) -> None:
        send(b"".join(message(entry, b"%d" % entry) for entry in range(3)))
        raise ConnectionResetError  # the next attempt to receive fails, and no other reader gets anything

    assert payloads(FakeReaderBroker(entries=3, reads_next=3, on_subscribe=[all_at_once])) == [b"0", b"1", b"2"]


@pytest.mark.parametrize(("claims", "granted"), [((1 << 31) - 1, (1 << 31) - 1), ((1 << 40) + 5, 5), (1 << 63, 1)])
def test_permits_of_a_batch_are_granted_again_whatever_number_it_claims(claims: int, granted: int) -> None:
    def both(send: Send) -> None:
        sealed = {13: encode_members({1: b"key", 2: b"x"})}
        send(b"".join(message(entry, b"", {11: claims, **sealed}) for entry in (0, 1)))
        send(message(2, single(b"") * 30_000, {11: 30_000}))

    broker = FakeReaderBroker(entries=4, reads_next=4, on_subscribe=[both])
    assert len(payloads(broker)) >= 30_002
    first, *more = broker.permits
    assert first == 50_000
    assert all(each < 1 << 31 for each in more)
    assert sum(more) == 2 * granted + 30_000


def send_frames(*sent: bytes) -> Action:
    return lambda send: send(b"".join(sent))


def _entries(*entries: int) -> Action:
    return send_frames(*(message(entry, b"%d" % entry) for entry in entries))


SPAN = 40
GAPS = [((0, 1, SPAN), SPAN + 2, SPAN - 1), ((0, 1, SPAN - 1), SPAN, SPAN - 2), ((0, 1), SPAN, SPAN - 1)]
"""Gaps of a span of SPAN entries: the entries that are sent, those of the broker, and the mark after them."""


@pytest.mark.parametrize(("shown", "entries", "mark"), GAPS)
def test_entries_that_the_broker_skipped_are_read_by_another_reader(
    shown: tuple[int, ...], entries: int, mark: int
) -> None:
    broker = FakeReaderBroker(entries, entries, [_entries(*shown), _entries(*range(SPAN))], marks=[mark, -1])
    assert payloads(broker, entries=SPAN) == [b"%d" % each for each in range(SPAN)]
    assert len(set(broker.names)) == 2


@pytest.mark.parametrize(("shown", "entries"), [gap[:2] for gap in GAPS])
def test_entries_without_messages_after_one_with_some_need_no_second_reader(
    shown: tuple[int, ...], entries: int
) -> None:
    broker = FakeReaderBroker(entries, entries, [_entries(*shown)])
    assert payloads(broker, entries=SPAN) == [b"%d" % each for each in shown if each < SPAN]
    assert len(broker.names) == 1


@pytest.mark.parametrize("shown", [(5, 6), ()])
def test_first_entries_have_no_messages_if_a_second_reader_receives_none(shown: tuple[int, ...]) -> None:
    mark = 4 if shown else 6
    broker = FakeReaderBroker(7, 7, [_entries(*shown), _entries(*shown)], marks=[mark, mark])
    assert payloads(broker) == [b"%d" % each for each in shown]
    assert len(broker.names) == 2


@pytest.mark.parametrize("is_mute", [False, True])
def test_a_gap_without_information_of_the_broker_is_read_by_another_reader(*, is_mute: bool) -> None:
    broker = FakeReaderBroker(7, 7)

    def lose_names(send: Send) -> None:
        broker.names.clear()
        broker.is_rest_empty = is_mute
        _entries(0, 6)(send)

    def return_all(send: Send) -> None:
        broker.is_rest_empty = False
        _entries(*range(7))(send)

    broker.on_subscribe = [lose_names, return_all]
    assert payloads(broker) == [b"%d" % each for each in range(7)]


@pytest.mark.parametrize(
    ("broker", "messages"),
    [
        pytest.param({"entries": 3, "on_subscribe": [sending(0)]}, [b"0"], id="no messages in the last entries"),
        pytest.param(
            {"entries": 2, "on_subscribe": [sending(0)], "on_last_message": [sending(1, after=LONGER_THAN_QUIET)]},
            [b"0", b"1"],
            id="a late message",
        ),
        pytest.param(
            {
                "entries": 2,
                "on_subscribe": [sending(0), sending(1, after=LONGER_THAN_QUIET)],
                "on_last_message": [hanging_up],
            },
            [b"0", b"1"],
            id="a message of a broken connection",
        ),
        pytest.param(
            {"entries": 7, "on_subscribe": [_entries(5, 6), _entries(*range(7))], "marks": [4, -1]},
            [b"%d" % each for each in range(7)],
            id="skipped before the first message",
        ),
    ],
)
def test_reader_waits_for_all_messages(broker: dict[str, Any], messages: list[bytes]) -> None:
    assert payloads(FakeReaderBroker(reads_next=broker["entries"], **broker)) == messages


def test_span_without_gaps_needs_no_request() -> None:
    broker = FakeReaderBroker(7, 7, [_entries(*range(7))])
    assert payloads(broker) == [b"%d" % each for each in range(7)]
    assert broker.rest_requests == 0


@pytest.mark.parametrize(
    ("broker", "timeout", "words"),
    [
        ({"entries": 3, "reads_next": 3, "pending_reads": 1}, 2.5, "messages are left"),
        ({"entries": 2, "reads_next": 1}, 1.5, "messages are left"),
        ({"entries": 2, "reads_next": 1, "transactions": 1, "last_visible": 0}, 2.5, "a transaction is open"),
        (
            {"entries": 7, "reads_next": 7, "on_subscribe": [_entries(0, 5, 6)] * 50, "marks": [4] * 50},
            1.5,
            "made to skip",
        ),
    ],
)
def test_broker_that_sends_no_more_gives_no_verdict(broker: dict[str, Any], timeout: float, words: str) -> None:
    with pytest.raises(SourceSilentError, match=words):
        payloads(FakeReaderBroker(**{"on_subscribe": [sending(0)], **broker}), timeout=timeout)


BEHIND = [message(0, b"0"), message(1, b"1", ledger=4), message(9, b"9", ledger=4)]


@pytest.mark.parametrize(
    ("broker", "ranges", "missing"),
    [
        pytest.param({"entries": 7, "on_subscribe": [_entries(2, 3)]}, [EntryRange(3, 1, 5)], [NotDelivered(3)],
            id="not delivered"),
        pytest.param({"entries": 2, "on_subscribe": [send_frames(*BEHIND)], "is_trimmed": True},
            [EntryRange(3, 0, 2), EntryRange(4, 0, 4)], [Expired(10), NotDelivered(3)],
            id="expired, and messages after the span"),
        pytest.param(
            {"entries": 6, "on_subscribe": [_entries(0, 2), _entries(0, 2, 5)], "on_last_message": [hanging_up]},
            [EntryRange(3, 0, 6)],
            [NotDelivered(3)],
            id="two connections",
        ),
        *(
            pytest.param(
                {"entries": 2, "on_subscribe": [sending(0)], "marks": [mark], "is_trimmed": True},
                [EntryRange(3, 0, 2)],
                [Expired(10)],
                id=f"last ledger removed, mark {mark}",
            )
            for mark in (-1, 1)
        ),
    ],
)  # fmt: skip
def test_missing_entries_are_counted_once(
    broker: dict[str, Any], ranges: list[EntryRange], missing: list[Expired | NotDelivered]
) -> None:
    assert _unread(FakeReaderBroker(reads_next=broker["entries"], **broker), *ranges) == missing


END = [chunk(99, 1, 2, b"end"), message(100, b"last")]
FAR = [chunk(1_999_998, 1, 2, b"end"), message(1_999_999, b"last")]
UNENDED = [chunk(95, 0, 2, b"the "), chunk(96, 1, 2, b"end"), chunk(97, 1, 2, b"end"), chunk(98, 1, 3, b"?"), END[1]]


@pytest.mark.parametrize(
    ("entries", "answers", "messages", "readers"),
    [
        pytest.param(101, [END, END, [chunk(3, 0, 2, b"the "), *END]], [b"last", b"the end"], 3, id="further back"),
        pytest.param(101, [END] * 3, [b"last"], 3, id="nowhere in the topic"),
        pytest.param(2_000_000, [FAR] * 9, [b"last", b""], 6, id="too far back"),
        pytest.param(101, [UNENDED], [b"the end", b"last"], 1, id="no message of the span"),
    ],
)
def test_first_chunk_before_the_span_is_read(
    entries: int, answers: list[list[bytes]], messages: list[bytes], readers: int
) -> None:
    broker = FakeReaderBroker(entries, entries, [send_frames(*each) for each in answers])
    assert payloads(broker, first=entries - 11 if entries == 101 else entries - 10) == messages
    assert len(broker.names) == readers
