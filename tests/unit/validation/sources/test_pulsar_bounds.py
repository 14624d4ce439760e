"""Whatever entries claim or unpack to, only a bounded part of it is held at once, and nothing of it is lost."""

import tracemalloc
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pytest

from support.pulsar.fake_reader_broker import chunk, message, single
from support.pulsar.wire import encode_members
from topicschema.validation.errors import SourceError
from topicschema.validation.run.batches import DAMAGED, ENCRYPTED, NO_VERSION, UNKNOWN_SCHEMA_VERSION
from topicschema.validation.sources.pulsar import frames
from topicschema.validation.sources.pulsar.batch_decoder import BatchDecoder
from topicschema.validation.sources.pulsar.chunks import Chunks, Ended
from topicschema.validation.sources.pulsar.ranges import Position

MIB = 1 << 20
PIECE = bytes(4 * MIB)
SEALED: dict[int, int | bytes] = {13: encode_members({1: b"key", 2: b"x"})}


def batches(sent: bytes, *, has_keys: bool = False) -> Iterator[pa.RecordBatch]:
    content = np.frombuffer(sent, np.uint8)
    table, end = frames.scan(content)
    assert end == len(sent)
    return BatchDecoder(4, Chunks(Position(0, 0)), has_keys).batches(content, table)


def packed(entry: int, text: bytes, more: dict[int, int | bytes] | None = None) -> bytes:
    content = pa.Codec("zstd").compress(text, asbytes=True)
    return message(entry, content, {8: 3, 9: len(text), **(more or {})})


@pytest.fixture
def peak() -> Iterator[Callable[[], int]]:
    """Yield a function that returns the peak of allocated bytes since the start of the test."""
    tracemalloc.start()
    yield lambda: tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()


def test_only_a_few_entries_that_unpack_to_many_bytes_are_unpacked_at_once(peak: Callable[[], int]) -> None:
    sent = b"".join(packed(entry, bytes(16 * MIB)) for entry in range(20))
    sizes = [len(batch["payload"][0].as_py()) for batch in batches(sent)]
    assert sizes == [16 * MIB] * 20
    assert peak() < 260 * MIB


def test_a_batch_that_claims_more_messages_than_any_has_is_a_finding_and_few_are_held(peak: Callable[[], int]) -> None:
    text = single(b"one") + bytes(6 * MIB)
    sent = packed(0, text, {11: 1 << 31, 6: b"k" * 4_000})
    writer_columns = [batch["writer"].to_numpy() for batch in batches(sent, has_keys=True)]
    assert sum(map(len, writer_columns)) == 1_000_000
    assert {int(each) for writers in writer_columns for each in np.unique(writers)} == {UNKNOWN_SCHEMA_VERSION}
    assert peak() < 200 * MIB


def test_encrypted_entries_that_claim_many_messages_are_not_expanded_at_once(peak: Callable[[], int]) -> None:
    sent = b"".join(message(entry, b"closed", {11: 100_000, **SEALED}) for entry in range(300))
    writer_columns = [batch["writer"].to_numpy() for batch in batches(sent)]
    assert {int(each) for writers in writer_columns for each in np.unique(writers)} == {ENCRYPTED}
    assert peak() < 130 * MIB


def test_messages_are_the_same_if_their_frames_are_decoded_in_pieces() -> None:
    big = bytes(40 * MIB)
    whole = message(3, b"damaged", {6: b"key"})
    sent = packed(0, big, {6: b"k0"}) + message(1, b"plain", {6: b"k1"}) + chunk(2, 0, 2, b"first ")
    sent += whole[:-1] + b"?" + packed(4, big, {6: b"k4"}) + chunk(5, 1, 2, b"second")
    sent += message(6, single(b"a", {2: b"k6"}) + single(b""), {11: 2})
    sent += packed(7, single(b"b" * 50_000_000, {2: b"k7"}) + single(b"c"), {11: 2})
    rows = [row for batch in batches(sent, has_keys=True) for row in batch.to_pylist()]
    messages = [(row["entry"], row["payload"][:6], len(row["payload"]), row["key"], row["writer"]) for row in rows]
    assert messages == [
        (0, bytes(6), len(big), b"k0", NO_VERSION),
        (1, b"plain", 5, b"k1", NO_VERSION),
        (3, b"", 0, None, DAMAGED),
        (4, bytes(6), len(big), b"k4", NO_VERSION),
        (5, b"first ", 12, None, NO_VERSION),
        (6, b"a", 1, b"k6", NO_VERSION),
        (6, b"", 0, None, NO_VERSION),
        (7, b"bbbbbb", 50_000_000, b"k7", NO_VERSION),
        (7, b"c", 1, None, NO_VERSION),
    ]


def test_a_chunked_message_that_is_too_large_is_a_finding() -> None:
    decoder = BatchDecoder(4, Chunks(Position(0, 0)), has_keys=True)
    bare = np.frombuffer(chunk(0, 0, 34, b"", b"a-1"), np.uint8)
    rows = []
    for number in range(34):
        content = np.concatenate([bare, np.zeros(4 * MIB, np.uint8)])
        table, _ = frames.scan(bare)
        table[:, [frames.ENTRY, frames.CHUNK, frames.BODY_SIZE]] = number, number, 4 * MIB
        rows.extend(row for batch in decoder.batches(content, table) for row in batch.to_pylist())
    assert [(row["entry"], row["writer"], row["payload"]) for row in rows] == [(33, UNKNOWN_SCHEMA_VERSION, b"")]


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
    for number in range(50):
        assert chunks.add(b"a-%d" % number, (0, 2), Position(3, number), PIECE) is None
    assert chunks.add(b"a-49", (1, 2), Position(3, 50), b"end") == Ended(Position(3, 49), PIECE + b"end")


def test_far_too_many_unfinished_messages_give_no_verdict() -> None:
    chunks = Chunks(Position(0, 0))
    for entry in range(100_000):
        chunks.add(b"a-%d" % entry, (0, 2), Position(3, entry), b"")
    with pytest.raises(SourceError, match="100,000 messages in chunks have no end"):
        chunks.add(b"another", (0, 2), Position(4, 0), b"")
