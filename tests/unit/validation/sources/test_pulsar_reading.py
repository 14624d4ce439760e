"""A span is read to its last entry whatever the connection does on the way."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from support.pulsar.fake_reader import Happening, ReaderAtTheWire, chunk, message, nothing, serving, single
from support.pulsar.wire import written
from topicschema.core.topics import Topic
from topicschema.validation.sources import Expired, NotDelivered
from topicschema.validation.sources.pulsar import reader, span_reader
from topicschema.validation.sources.pulsar.errors import SourceSilentError
from topicschema.validation.sources.pulsar.ranges import EntryRange, Span
from topicschema.validation.sources.pulsar.reader import ReaderOptions

QUIET = 0.3
LONGER_THAN_QUIET = 0.4
PATIENT = 60.0
Send = Callable[[bytes], object]


@contextmanager
def soon_quiet(timeout: float) -> Iterator[None]:
    """Where readers are patient, they ask sooner what they would ask after the product's longer times."""
    with pytest.MonkeyPatch.context() as patch:
        if timeout == PATIENT:
            patch.setattr(span_reader, "QUIET_SECONDS", QUIET)
            patch.setattr(span_reader, "_PAUSE_SECONDS", 0.05)
        yield


def payloads(
    broker: ReaderAtTheWire, timeout: float = PATIENT, first: int = 0, entries: int | None = None
) -> list[bytes]:
    """What a reader of so many entries from that one on gets, or of all."""
    count = broker.entries - first if entries is None else entries
    span = Span("persistent://shop/live/orders", 0, (EntryRange(3, first, count),))
    found: list[bytes] = []
    with serving(broker) as asked, soon_quiet(timeout):
        options = ReaderOptions(asked, has_keys=False, timeout=timeout)
        for batch in reader.read(options, span, Topic.parse(span.topic)):
            assert not isinstance(batch, Expired)
            found.extend([] if isinstance(batch, NotDelivered) else (row["payload"] for row in batch.to_pylist()))
    return found


def sending(entry: int, after: float = 0.0) -> Happening:
    def happens(send: Send) -> None:
        time.sleep(after)
        send(message(entry, b"%d" % entry))

    return happens


def hanging_up(send: Send) -> None:
    raise ConnectionResetError


def test_a_message_that_was_sent_and_is_late_is_waited_for() -> None:
    late = sending(1, after=LONGER_THAN_QUIET)
    broker = ReaderAtTheWire(entries=2, reads_next=2, subscribed=[sending(0)], asked_last=[late])
    assert payloads(broker) == [b"0", b"1"]


def test_what_was_sent_over_a_connection_that_broke_is_waited_for_over_the_next_one() -> None:
    again = [sending(0), sending(1, after=LONGER_THAN_QUIET)]
    broker = ReaderAtTheWire(entries=2, reads_next=2, subscribed=again, asked_last=[hanging_up])
    assert payloads(broker) == [b"0", b"1"]


def test_what_is_read_and_held_until_the_next_ledger_is_open_is_waited_for() -> None:
    broker = ReaderAtTheWire(entries=3, reads_next=3, reading=1, subscribed=[sending(0)])

    def opens(send: Send) -> None:
        broker.reading = 0
        send(message(1, b"1") + message(2, b"2"))

    broker.asked_last = [nothing, opens]
    assert payloads(broker) == [b"0", b"1", b"2"]


def test_a_read_that_never_ends_gives_no_verdict() -> None:
    broker = ReaderAtTheWire(entries=3, reads_next=3, reading=1, subscribed=[sending(0)])
    with pytest.raises(SourceSilentError, match="messages are left"):
        payloads(broker, timeout=2.5)


@pytest.mark.parametrize("mark", [-1, 1])
def test_entries_of_the_last_ledger_are_gone_where_that_was_removed_though_it_still_tells_where_it_ended(
    mark: int,
) -> None:
    broker = ReaderAtTheWire(entries=2, reads_next=2, subscribed=[sending(0)], marks=[mark], is_trimmed=True)
    span = Span("persistent://shop/live/orders", 0, (EntryRange(3, 0, 2),))
    with serving(broker) as asked, soon_quiet(PATIENT):
        options = ReaderOptions(asked, has_keys=False, timeout=PATIENT)
        *_, last = reader.read(options, span, Topic.parse(span.topic))
    assert last == Expired(1)


def _unread(broker: ReaderAtTheWire, *entry_ranges: EntryRange) -> list[Expired | NotDelivered]:
    """What a reader of these is told besides messages."""
    span = Span("persistent://shop/live/orders", 0, entry_ranges, messages_per_entry=10.0)
    with serving(broker) as asked, soon_quiet(PATIENT):
        found = reader.read(ReaderOptions(asked, has_keys=False, timeout=PATIENT), span, Topic.parse(span.topic))
        return [each for each in found if isinstance(each, Expired | NotDelivered)]


def test_entries_that_are_there_and_hold_nothing_for_readers_are_counted() -> None:
    broker = ReaderAtTheWire(entries=7, reads_next=7, subscribed=[_entries(2, 3)])
    assert _unread(broker, EntryRange(3, 1, 5)) == [NotDelivered(3)]


def test_entries_that_are_gone_are_not_counted_as_withheld_and_neither_is_what_is_behind_the_span() -> None:
    sent = [message(0, b"0"), message(1, b"1", ledger=4), message(9, b"9", ledger=4)]
    broker = ReaderAtTheWire(entries=2, reads_next=2, subscribed=[_told(*sent)], is_trimmed=True)
    assert _unread(broker, EntryRange(3, 0, 2), EntryRange(4, 0, 4)) == [Expired(10), NotDelivered(3)]


def test_a_span_that_is_read_over_two_connections_counts_what_is_withheld_once() -> None:
    sent = [_entries(0, 2), _entries(0, 2, 5)]
    broker = ReaderAtTheWire(entries=6, reads_next=6, subscribed=sent, asked_last=[hanging_up])
    assert _unread(broker, EntryRange(3, 0, 6)) == [NotDelivered(3)]


def test_a_span_whose_last_entries_hold_no_messages_for_readers_comes_to_its_end() -> None:
    broker = ReaderAtTheWire(entries=3, reads_next=3, subscribed=[sending(0)])
    assert payloads(broker) == [b"0"]


def test_what_a_transaction_held_back_is_read_though_the_last_message_was_told_before_it_ended() -> None:
    broker = ReaderAtTheWire(entries=3, reads_next=1, subscribed=[sending(0)], transactions=1, shown=0)

    def ends(send: Send) -> None:
        broker.transactions = 0
        sending(1)(send)

    def shows_all(send: Send) -> None:
        broker.shown = None
        sending(2)(send)

    broker.asked_last = [ends, shows_all]
    assert payloads(broker) == [b"0", b"1", b"2"]


def test_what_a_transaction_holds_back_for_too_long_is_no_end() -> None:
    broker = ReaderAtTheWire(entries=2, reads_next=1, subscribed=[sending(0)], transactions=1, shown=0)
    with pytest.raises(SourceSilentError, match="a transaction is open"):
        payloads(broker, timeout=2.5)


def test_a_broker_that_has_not_read_to_the_end_and_sends_nothing_gives_no_verdict() -> None:
    broker = ReaderAtTheWire(entries=2, reads_next=1, subscribed=[sending(0)])
    with pytest.raises(SourceSilentError, match="messages are left"):
        payloads(broker, timeout=1.5)


@pytest.mark.parametrize(("claims", "given"), [((1 << 31) - 1, (1 << 31) - 1), ((1 << 40) + 5, 5), (1 << 63, 1)])
def test_the_broker_may_send_again_what_it_took_off_for_a_batch_however_many_that_claims(
    claims: int, given: int
) -> None:
    def both(send: Send) -> None:
        sealed = {13: written({1: b"key", 2: b"x"})}
        send(b"".join(message(entry, b"", {11: claims, **sealed}) for entry in (0, 1)))
        send(message(2, single(b"") * 30_000, {11: 30_000}))

    broker = ReaderAtTheWire(entries=4, reads_next=4, subscribed=[both])
    assert len(payloads(broker)) >= 30_002
    first, *more = broker.permits
    assert first == 50_000
    assert all(each < 1 << 31 for each in more)
    assert sum(more) == 2 * given + 30_000


def _told(*sent: bytes) -> Happening:
    return lambda send: send(b"".join(sent))


def test_a_first_chunk_is_looked_for_back_to_the_beginning_of_a_topic_where_that_is_not_far() -> None:
    end = [chunk(99, 1, 2, b"end"), message(100, b"last")]
    broker = ReaderAtTheWire(101, 101, [_told(*end), _told(*end), _told(chunk(3, 0, 2, b"the "), *end)])
    assert payloads(broker, first=90) == [b"last", b"the end"]
    assert len(broker.names) == 3


def test_a_message_without_a_first_chunk_is_none_where_the_whole_topic_was_looked_through() -> None:
    end = [chunk(99, 1, 2, b"end"), message(100, b"last")]
    assert payloads(ReaderAtTheWire(101, 101, [_told(*end)] * 3), first=90) == [b"last"]


def test_a_first_chunk_that_is_too_far_back_is_looked_for_in_vain_and_told() -> None:
    end = [chunk(1_999_998, 1, 2, b"end"), message(1_999_999, b"last")]
    broker = ReaderAtTheWire(2_000_000, 2_000_000, [_told(*end)] * 9)
    assert payloads(broker, first=1_999_990) == [b"last", b""]
    assert len(broker.names) == 6


def test_chunks_that_end_no_message_of_the_span_send_nobody_back() -> None:
    again = [chunk(95, 0, 2, b"the "), chunk(96, 1, 2, b"end"), chunk(97, 1, 2, b"end"), chunk(98, 1, 3, b"?")]
    broker = ReaderAtTheWire(101, 101, [_told(*again, message(100, b"last"))])
    assert payloads(broker, first=90) == [b"the end", b"last"]
    assert len(broker.names) == 1


def _entries(*entries: int) -> Happening:
    return _told(*(message(entry, b"%d" % entry) for entry in entries))


SPAN = 40
GAPS = [((0, 1, SPAN), SPAN + 2, SPAN - 1), ((0, 1, SPAN - 1), SPAN, SPAN - 2), ((0, 1), SPAN, SPAN - 1)]
"""What comes of a span of SPAN entries where all but a few are left out: what the broker has, and the mark after it."""


@pytest.mark.parametrize(("shown", "entries", "mark"), GAPS)
def test_what_the_broker_was_made_to_skip_is_read_by_another_reader(
    shown: tuple[int, ...], entries: int, mark: int
) -> None:
    broker = ReaderAtTheWire(entries, entries, [_entries(*shown), _entries(*range(SPAN))], marks=[mark, -1])
    assert payloads(broker, entries=SPAN) == [b"%d" % each for each in range(SPAN)]
    assert len(set(broker.names)) == 2


@pytest.mark.parametrize(("shown", "entries"), [gap[:2] for gap in GAPS])
def test_entries_that_hold_no_messages_behind_one_that_does_send_nobody_back(
    shown: tuple[int, ...], entries: int
) -> None:
    broker = ReaderAtTheWire(entries, entries, [_entries(*shown)])
    assert payloads(broker, entries=SPAN) == [b"%d" % each for each in shown if each < SPAN]
    assert len(broker.names) == 1


@pytest.mark.parametrize("shown", [(5, 6), ()])
def test_entries_that_a_reader_begins_with_hold_no_messages_where_a_second_one_is_shown_none(
    shown: tuple[int, ...],
) -> None:
    mark = 4 if shown else 6
    broker = ReaderAtTheWire(7, 7, [_entries(*shown), _entries(*shown)], marks=[mark, mark])
    assert payloads(broker) == [b"%d" % each for each in shown]
    assert len(broker.names) == 2


def test_what_is_skipped_before_the_first_message_came_is_read_by_a_second_reader() -> None:
    broker = ReaderAtTheWire(7, 7, [_entries(5, 6), _entries(*range(7))], marks=[4, -1])
    assert payloads(broker) == [b"%d" % each for each in range(7)]


def test_a_broker_that_is_made_to_skip_again_and_again_gives_no_verdict() -> None:
    broker = ReaderAtTheWire(7, 7, [_entries(0, 5, 6)] * 50, marks=[4] * 50)
    with pytest.raises(SourceSilentError, match="made to skip"):
        payloads(broker, timeout=1.5)


@pytest.mark.parametrize("is_mute", [False, True])
def test_a_gap_that_the_broker_cannot_tell_of_is_read_by_another_reader(*, is_mute: bool) -> None:
    broker = ReaderAtTheWire(7, 7)

    def forgets(send: Send) -> None:
        broker.names.clear()
        broker.is_mute = is_mute
        _entries(0, 6)(send)

    def remembers(send: Send) -> None:
        broker.is_mute = False
        _entries(*range(7))(send)

    broker.subscribed = [forgets, remembers]
    assert payloads(broker) == [b"%d" % each for each in range(7)]


def test_a_span_without_gaps_costs_no_question() -> None:
    broker = ReaderAtTheWire(7, 7, [_entries(*range(7))])
    assert payloads(broker) == [b"%d" % each for each in range(7)]
    assert broker.asked == 0
