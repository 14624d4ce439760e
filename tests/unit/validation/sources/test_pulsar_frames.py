"""Frames of a broker, decoded to batches: no violation of the protocol raises or allocates much."""

import base64
import zlib
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from support.pulsar.fake_reader_broker import chunk, crc32c, message, single
from support.pulsar.wire import Members, encode_members
from topicschema.validation.run.batches import (
    DAMAGED,
    ENCRYPTED,
    INVALID_KEY,
    NO_TIME,
    NO_VERSION,
    UNKNOWN_SCHEMA_VERSION,
)
from topicschema.validation.sources.pulsar import frames, protocol
from topicschema.validation.sources.pulsar import pulsar_api_pb2 as api
from topicschema.validation.sources.pulsar.batch_decoder import BatchDecoder
from topicschema.validation.sources.pulsar.checksums import checksum
from topicschema.validation.sources.pulsar.chunks import Chunks
from topicschema.validation.sources.pulsar.pulsar_api_pb2 import BaseCommand
from topicschema.validation.sources.pulsar.ranges import Position

Row = dict[str, Any]


def rows(
    sent: bytes, decoder: BatchDecoder | None = None, *, has_keys: bool = False, has_details: bool = False
) -> list[Row]:
    content = np.frombuffer(sent, np.uint8)
    table, end = frames.scan(content)
    assert end == len(sent)
    decoder = decoder or BatchDecoder(4, Chunks(Position(0, 0)), has_keys, has_details)
    messages: list[Row] = []
    for batch in decoder.batches(content, table[table[:, frames.KIND] == BaseCommand.MESSAGE]):
        batch.validate(full=True)
        messages.extend(batch.to_pylist())
    return messages


def test_single_and_batched_messages_have_all_their_metadata() -> None:
    version = {16: (258).to_bytes(8, "big")}
    batch = single(b"one") + single(b"", {9: 1}) + single(b"") + single(b"x" * 300)
    messages = rows(message(0, b"alone", version) + message(1, batch, {11: 4, **version}) + message(2, b"", {25: 1}))
    assert [row["payload"] for row in messages] == [b"alone", b"one", None, b"", b"x" * 300, None]
    assert [row["writer"] for row in messages] == [258] * 5 + [NO_VERSION]
    places = [(row["entry"], row["batch_index"]) for row in messages]
    assert places == [(0, -1), (1, 0), (1, 1), (1, 2), (1, 3), (2, -1)]
    assert {(row["partition"], row["ledger"], row["publish_time"]) for row in messages} == {(4, 3, 1_700_000_000_000)}


def property_of(name: str, value: str) -> bytes:
    return encode_members({1: name.encode(), 2: value.encode()})


DETAILS = ("event_time", "producer", "sequence_id", "ordering_key", "properties")


def test_details_of_a_message_are_its_own_or_its_entry_s_as_in_java_s_client() -> None:
    metadata: Members = {1: b"a", 2: 7, 4: property_of("of", "entry"), 12: 1_000, 18: b"of entry"}
    own = single(b"y", {1: property_of("of", "one"), 5: 2_000, 7: b"of one", 8: 9})
    messages = rows(message(0, b"x", metadata) + message(1, single(b"x") + own, {11: 2, **metadata}), has_details=True)
    assert [[row[name] for name in DETAILS] for row in messages] == [
        [1_000, "a", 7, b"of entry", [("of", "entry")]],
        [1_000, "a", 7, None, []],
        [2_000, "a", 9, b"of one", [("of", "one")]],
    ]


def test_missing_details_are_null() -> None:
    (row,) = rows(message(0, b"x", {12: 0}), has_details=True)
    assert [row[name] for name in DETAILS] == [None, "p", 1, None, []]


@given(st.lists(st.lists(st.tuples(st.sampled_from(["a", "b", "é", ""]), st.text(max_size=3)), max_size=4), max_size=5))
@settings(max_examples=50)
def test_the_last_property_of_a_name_counts(properties: list[list[tuple[str, str]]]) -> None:
    sent = b""
    for entry, pairs in enumerate(properties):
        own = b"".join(encode_members({1: property_of(*pair)}) for pair in pairs)
        encoded = own + encode_members({3: 0})
        sent += message(entry, len(encoded).to_bytes(4, "big") + encoded, {11: 1})
    assert [dict(row["properties"]) for row in rows(sent, has_details=True)] == [dict(pairs) for pairs in properties]
    assert all(len(row["properties"]) == len(dict(row["properties"])) for row in rows(sent, has_details=True))


@pytest.mark.parametrize("value", [0, 8, 64, 1 << 40, (1 << 63) - 1])
def test_a_number_in_the_place_of_a_text_is_no_size(value: int) -> None:
    numbers = dict.fromkeys((1, 4, 6, 16, 18, 26), value)
    own = dict.fromkeys((1, 2, 7), value)
    sent = message(0, b"x", numbers) + message(1, single(b"y", own), {11: 1, **numbers})
    for row in rows(sent, has_keys=True, has_details=True):
        assert (row["key"], row["ordering_key"], row["producer"]) == (None, None, None)
        assert row["writer"] == (NO_VERSION if value == 0 else UNKNOWN_SCHEMA_VERSION)


@given(st.binary(max_size=60), st.booleans())
@settings(max_examples=200)
def test_no_bytes_in_metadata_are_read_beyond_their_end(content: bytes, is_batch: bool) -> None:  # noqa: FBT001
    if is_batch:
        encoded = encode_members({3: 1}) + content
        sent = message(0, len(encoded).to_bytes(4, "big") + encoded + b"x", {11: 1})
    else:
        sent = message(0, b"x", {4: content, 1: content, 18: content})
    for row in rows(sent, has_keys=True, has_details=True):
        assert len(row["ordering_key"] or b"") <= len(content)


@pytest.mark.parametrize(
    ("version", "number"), [(b"", NO_VERSION), (b"\0\0", UNKNOWN_SCHEMA_VERSION), (b"\xff" * 8, UNKNOWN_SCHEMA_VERSION)]
)
def test_a_schema_version_that_no_broker_assigns_is_unknown(version: bytes, number: int) -> None:
    assert [row["writer"] for row in rows(message(0, b"x", {16: version}))] == [number]


@pytest.mark.parametrize("codec", [(1, "lz4_raw"), (3, "zstd"), (4, "snappy"), (2, "")])
def test_compressed_messages_are_unpacked_also_empty_ones(codec: tuple[int, str]) -> None:
    for text in (b"", b"some text " * 9):
        packed = pa.Codec(codec[1]).compress(text, asbytes=True) if codec[1] else zlib.compress(text)
        assert [row["payload"] for row in rows(message(0, packed, {8: codec[0], 9: len(text)}))] == [text]


def test_batch_without_its_messages_and_mark_of_the_broker() -> None:
    assert rows(message(0, b"mark", {20: 22})) == []
    first, *others = rows(message(0, single(b"one"), {11: 1 << 40}))
    assert first["payload"] == b"one"
    assert {row["writer"] for row in others} <= {UNKNOWN_SCHEMA_VERSION}
    assert len(others) < 9


def test_a_message_that_cannot_be_unpacked_is_a_finding_and_needs_no_memory() -> None:
    for codec, size in ((1, 50), (2, 50), (3, 50), (4, 50), (9, 50), (3, 1 << 40), (2, 1 << 62)):
        messages = rows(message(0, b"no such thing", {8: codec, 9: size, 11: 1 << 40}) + message(1, b"next"))
        assert [row["payload"] for row in messages][-1] == b"next"
        assert {row["writer"] for row in messages[:-1]} == {UNKNOWN_SCHEMA_VERSION}
        assert len(messages) < 20


def test_encrypted_messages_are_counted_as_such() -> None:
    sealed = {13: encode_members({1: b"key", 2: b"x"})}
    messages = rows(message(0, b"closed", sealed) + message(1, b"closed", {11: 3, 8: 1, 9: 100, **sealed}))
    assert [(row["writer"], row["payload"], row["batch_index"]) for row in messages] == [
        (ENCRYPTED, b"", index) for index in (-1, 0, 1, 2)
    ]


CODED = base64.b64encode(b"\x00\xff")
PAIRED = single(b"1", {2: CODED, 6: 1}) + single(b"2", {2: CODED}) + single(b"3")


@pytest.mark.parametrize(
    ("metadata", "body", "keys"),
    [
        ({6: b"AAAAAQ", 17: 1}, b"0", [b"\0\0\0\1"]),  # Java reads base64 without padding
        ({6: b"AAAAAQ==", 17: 1}, b"0", [b"\0\0\0\1"]),
        ({17: 1}, b"0", [None]),
        ({6: CODED, 17: 1}, b"0", [b"\x00\xff"]),
        ({11: 3}, PAIRED, [b"\x00\xff", CODED, None]),
        ({6: b"\0\0\0\xc8"}, b"0", [b"\0\0\0\xef\xbf\xbd"]),  # Java reads text
        ({6: "schön".encode()}, b"0", ["schön".encode()]),
    ],
)
def test_keys_are_decoded_as_java_decodes_them(metadata: Members, body: bytes, keys: list[bytes | None]) -> None:
    decoded = rows(message(0, body, metadata), has_keys=True)
    assert [(row["key"], row["writer"]) for row in decoded] == [(key, NO_VERSION) for key in keys]


@pytest.mark.parametrize("key", [b"!!!!", b"AAAAAQ=", b"A", b"AAAA AAA"])
def test_invalid_base64_is_a_finding_only_of_separate_keys(key: bytes) -> None:
    sent = message(0, b"0", {6: key, 17: 1})
    for has_keys, writer in ((True, INVALID_KEY), (False, NO_VERSION)):
        assert [(row["key"], row["writer"]) for row in rows(sent, has_keys=has_keys)] == [(None, writer)]


@given(st.binary(max_size=70), st.integers(0, 9))
@example(b"123456789", 0)
def test_checksums_of_any_bytes_are_those_of_the_definition(text: bytes, at: int) -> None:
    begin = min(at, len(text))
    assert checksum(np.frombuffer(text, np.uint8), begin, len(text)) == crc32c(text[begin:])
    assert crc32c(b"123456789") == 0xE3069283


@pytest.mark.parametrize("more", [{}, {11: 2}, {20: 22}, {13: b"", 8: 1}, {26: b"a-1", 27: 2, 29: 0}, {6: b"key"}])
def test_a_damaged_message_has_only_its_position(more: dict[int, int | bytes]) -> None:
    whole = message(1, single(b"one") * 2, more)
    sent = message(0, b"before") + whole[:-1] + bytes([whole[-1] ^ 1]) + message(2, b"behind")
    before, damaged, behind = rows(sent, has_keys=True)
    assert (before["payload"], behind["payload"]) == (b"before", b"behind")
    assert (damaged["writer"], damaged["ledger"], damaged["entry"], damaged["batch_index"]) == (DAMAGED, 3, 1, -1)
    assert (damaged["payload"], damaged["key"], damaged["publish_time"]) == (b"", None, NO_TIME)


def test_chunks_of_several_producers_are_assembled_and_a_duplicate_counts_once() -> None:
    sent = chunk(0, 0, 3, b"A") + chunk(1, 0, 2, b"x", b"b-7") + chunk(2, 1, 3, b"B") + chunk(3, 1, 3, b"B")
    messages = rows(sent + message(4, b"between") + chunk(5, 1, 2, b"y", b"b-7") + chunk(6, 2, 3, b"C"))
    assert [(row["entry"], row["payload"]) for row in messages] == [(4, b"between"), (5, b"xy"), (6, b"ABC")]


def test_a_chunk_without_its_beginning_is_no_message_and_is_counted_as_incomplete() -> None:
    decoder = BatchDecoder(0, Chunks(Position(3, 1)), has_keys=False)
    assert rows(chunk(1, 1, 2, b"y"), decoder) == []
    assert decoder.chunks.has_incomplete


def test_only_chunked_messages_that_span_an_entry_are_returned_on_request() -> None:
    decoder = BatchDecoder(0, Chunks(Position(3, 2)), has_keys=False, straddled=Position(3, 2))
    sent = chunk(0, 0, 2, b"a") + chunk(1, 1, 2, b"b") + chunk(1, 0, 2, b"c", b"c-1")
    sent += message(2, b"no") + chunk(3, 1, 2, b"d", b"c-1")
    assert [row["payload"] for row in rows(sent, decoder)] == [b"cd"]


@settings(max_examples=150)
@given(st.binary(max_size=60), st.integers(0, 400), st.integers(0, 255))
def test_no_bytes_make_the_decoder_fail(tail: bytes, at: int, byte: int) -> None:
    whole = bytearray(
        message(0, single(b"one") + tail, {11: 2}) + message(1, b"next", {16: tail[:9]}) + chunk(2, 0, 2, tail)
    )
    whole[at % len(whole)] = byte
    content = np.frombuffer(bytes(whole), np.uint8)
    try:
        table, end = frames.scan(content)
    except ValueError:
        return
    assert end <= len(whole)
    for batch in BatchDecoder(0, Chunks(Position(0, 0)), has_keys=True).batches(
        content, table[table[:, frames.KIND] == BaseCommand.MESSAGE]
    ):
        batch.validate(full=True)


@given(st.binary(max_size=40))
def test_broken_commands_are_value_errors(content: bytes) -> None:
    try:
        protocol.parse(content)
    except ValueError:
        return


def test_commands_have_the_numbers_of_the_protocol() -> None:
    subscribe = api.CommandSubscribe(topic="t", subscription="s", durable=False, force_topic_creation=False)
    subscribe.start_message_id.CopyFrom(api.MessageIdData(ledgerId=3, entryId=-1))
    inner = {1: b"t", 2: b"s", 8: 0, 9: encode_members({1: 3, 2: -1}), 15: 0}
    sent = protocol.frame(BaseCommand(type=BaseCommand.SUBSCRIBE, subscribe=subscribe))
    assert sent[8:] == encode_members({1: 4, 4: encode_members(inner)})
    assert protocol.parse(sent[8:]).subscribe.start_message_id.entryId == -1
