"""Chunks are assembled or reported as lost, in bounded memory and time."""

import pytest

from topicschema.validation.errors import SourceError
from topicschema.validation.sources.pulsar.chunks import Chunks, Ended
from topicschema.validation.sources.pulsar.ranges import Position

MIB = 1 << 20
PIECE = bytes(4 * MIB)


def test_of_too_many_unfinished_messages_the_oldest_is_lost_and_the_others_are_complete() -> None:
    chunks = Chunks(Position(0, 0))
    producers = (b"a-1", b"b-1", b"c-1", b"d-1")
    for number in range(10):
        for producer in producers:
            assert chunks.add(producer, (number, 11), Position(3, number), PIECE) is None
    lost, *ended = [chunks.add(each, (10, 11), Position(3, 10), b"end") for each in producers]
    assert lost == Ended(Position(3, 0), None)
    assert [each and each.body and len(each.body) for each in ended] == [40 * MIB + 3] * 3


def test_an_unfinished_message_of_a_producer_is_dropped_for_later_ones() -> None:
    chunks = Chunks(Position(0, 0))
    for message in range(50):
        assert chunks.add(b"a-%d" % message, (0, 2), Position(3, message), PIECE) is None
    assert chunks.add(b"a-49", (1, 2), Position(3, 50), b"end") == Ended(Position(3, 49), PIECE + b"end")


def test_far_too_many_unfinished_messages_give_no_verdict() -> None:
    chunks = Chunks(Position(0, 0))
    for entry in range(100_000):
        chunks.add(b"a-%d" % entry, (0, 2), Position(3, entry), b"")
    with pytest.raises(SourceError, match="100,000 messages in chunks have no end"):
        chunks.add(b"another", (0, 2), Position(4, 0), b"")
