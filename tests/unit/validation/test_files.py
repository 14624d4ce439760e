"""Files give the same messages however they are cut, and broken ones are told with their place, never judged."""

import base64
import bz2
import io
import json
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from pyarrow import parquet

from support.sizes import sized
from support.validation import order_files
from topicschema.validation.errors import SourceError
from topicschema.validation.request import Columns, FileFormat, FileSource
from topicschema.validation.run.batches import BATCH
from topicschema.validation.sources.files import avro_blocks, json_lines
from topicschema.validation.sources.files.source import FileMessages

ORDERS = order_files.orders(2_500)
SIZES = (1, 700, 5_003, 1 << 30)
FEW = sized(100, 2_500)
"""Where each byte is a split of its own."""
RECORD = {
    "type": "record",
    "name": "Node",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "text", "type": ["null", "string"]},
        {"name": "next", "type": ["null", "Node"]},
        {"name": "tags", "type": {"type": "map", "values": "int"}},
    ],
}
NODES = [
    {
        "id": n,
        "text": None if n % 3 else "t" * (n % 90),
        "next": {"id": 1, "text": None, "next": None, "tags": {}} if n % 7 == 0 else None,
        "tags": {"a": n},
    }
    for n in range(900)
]


def rows_of(asked: FileSource, size: int) -> list[dict[str, Any]]:
    """All messages, by where they are."""
    source = FileMessages(asked, size)
    plan = source.plan()
    batches = [batch for split in reversed(plan.splits) for batch in source.read(split)]
    assert all(batch.schema == BATCH for batch in batches)
    return sorted(
        (row for batch in batches for row in batch.to_pylist()),
        key=lambda row: (row["ledger"], row["entry"], row["batch_index"]),
    )


def encoded(record: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(RECORD), record)
    return out.getvalue()


def container(path: Path, codec: str = "null", count: int = len(NODES)) -> Path:
    with path.open("wb") as out:
        fastavro.writer(out, fastavro.parse_schema(RECORD), NODES[:count], codec=codec, sync_interval=900)
    return path


@pytest.mark.parametrize("size", SIZES)
def test_parquet_gives_each_row_once_with_all_that_it_tells(tmp_path: Path, size: int) -> None:
    first = order_files.write(ORDERS[:1_500], tmp_path / "a.parquet", 100)
    second = order_files.write(ORDERS[1_500:], tmp_path / "b.parquet", 400)
    rows = rows_of(FileSource((str(first), str(second))), size)
    assert [(row["payload"], row["writer"], row["publish_time"]) for row in rows] == [
        (each.payload, each.version, each.publish_time) for each in ORDERS
    ]
    assert [(row["partition"], row["entry"]) for row in rows[1_499:1_501]] == [(0, 1_499), (1, 0)]
    assert FileMessages(FileSource((str(first), str(second))), size).plan().messages == len(ORDERS)


@pytest.mark.parametrize("size", SIZES)
def test_json_lines_give_each_line_once(tmp_path: Path, size: int) -> None:
    orders = ORDERS[:FEW] if size == 1 else ORDERS
    lines = [
        json.dumps({"value_base64": base64.b64encode(each.payload or b"").decode(), "schema_version": each.version})
        for each in orders
    ]
    path = tmp_path / "orders.jsonl"
    path.write_text("\n".join([*lines[:9], "", *lines[9:]]))
    rows = rows_of(FileSource((str(path),)), size)
    assert [(row["payload"], row["writer"]) for row in rows] == [(each.payload, each.version) for each in orders]


def test_a_line_says_its_payload_in_several_ways(tmp_path: Path) -> None:
    path = tmp_path / "ways.json"
    path.write_text('{"value": "t\\u00e9xt"}\n{"value": {"a": [1]}, "key": "k"}\r\n{"value": null, "partition": 9}\n')
    rows = rows_of(FileSource((str(path),), columns=Columns(partition="partition")), 1)
    assert [row["payload"] for row in rows] == ["téxt".encode(), b'{"a":[1]}', None]
    assert [(row["key"], row["partition"]) for row in rows] == [(None, -1), (b"k", -1), (None, 9)]
    whole = rows_of(FileSource((str(path),), columns=Columns(payload="")), 1)
    assert whole[1]["payload"] == b'{"value": {"a": [1]}, "key": "k"}'


@pytest.mark.parametrize("codec", ["null", "deflate", "bzip2", "xz"])
@pytest.mark.parametrize("size", SIZES)
def test_a_container_gives_each_record_once_byte_for_byte_whatever_it_is_packed_with(
    tmp_path: Path, size: int, codec: str
) -> None:
    count = FEW if size == 1 else len(NODES)
    path = container(tmp_path / "nodes.avro", codec, count)
    rows = rows_of(FileSource((str(path),)), size)
    assert [row["payload"] for row in rows] == [encoded(each) for each in NODES[:count]]
    plan = FileMessages(FileSource((str(path),))).plan()
    assert {row["writer"] for row in rows} == set(plan.writers)
    assert [json.loads(each.schema)["name"] for each in plan.writers.values()] == ["Node"]


def test_records_of_any_size_are_cut_where_they_end(tmp_path: Path) -> None:
    fields = [
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}, "default": 0},
        {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "PAID"]}},
        {"name": "amounts", "type": {"type": "map", "values": ["null", "double"]}},
        {"name": "text", "type": "string"},
    ]
    schema = fastavro.parse_schema({"type": "record", "name": "Order", "fields": fields})
    sizes = [0, 5, 600_000, 3_000_000, 1, *[400_000] * 6, *range(2_000)]
    orders = [{"at": -(1 << 62), "state": "PAID", "amounts": {"a": 1.5, "b": None}, "text": "é" * n} for n in sizes]
    path = tmp_path / "orders.avro"
    with path.open("wb") as out:
        fastavro.writer(out, schema, orders, sync_interval=1 << 30)
    payloads = []
    for each in orders:
        record = io.BytesIO()
        fastavro.schemaless_writer(record, schema, each)
        payloads.append(record.getvalue())
    assert [row["payload"] for row in rows_of(FileSource((str(path),)), 1 << 30)] == payloads


@pytest.mark.parametrize("codec", ["snappy", "zstandard"])
def test_a_container_packed_by_what_this_python_cannot_pack_with_is_read(tmp_path: Path, codec: str) -> None:
    path = container(tmp_path / "nodes.avro")
    plain = path.read_bytes()
    sync = plain[-16:]
    head, *blocks, _ = plain.split(sync)
    packed = [_packed(block, codec) for block in blocks]
    told = head.replace(b"\x14avro.codec\x08null", b"\x14avro.codec" + encoded_long(len(codec)) + codec.encode())
    assert told != head
    path.write_bytes(sync.join([told, *packed, b""]))
    assert [row["payload"] for row in rows_of(FileSource((str(path),)), 1 << 30)] == [encoded(each) for each in NODES]


def _packed(block: bytes, codec: str) -> bytes:
    stream = io.BytesIO(block)
    count, size = _long(stream), _long(stream)
    content = stream.read(size)
    if codec == "snappy":
        content = pa.compress(content, codec="snappy", asbytes=True) + zlib.crc32(content).to_bytes(4, "big")
    else:
        content = pa.compress(content, codec="zstd", asbytes=True)
    return encoded_long(count) + encoded_long(len(content)) + content


def _long(stream: io.BytesIO) -> int:
    return int(fastavro.schemaless_reader(stream, "long", None))


def encoded_long(number: int) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, "long", number)
    return out.getvalue()


def test_a_folder_is_all_files_in_it_but_those_that_are_hidden(tmp_path: Path) -> None:
    for name in ("b/part-1.parquet", "a.parquet", "_temporary/x.parquet", ".hidden.parquet", "_SUCCESS"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        order_files.write(ORDERS[:10], tmp_path / name)
    plan = FileMessages(FileSource((str(tmp_path),))).plan()
    assert plan.files == (f"{tmp_path}/a.parquet", f"{tmp_path}/b/part-1.parquet")
    assert FileMessages(FileSource((tmp_path.as_uri(),))).plan().messages == 20


def test_files_without_messages_stand_in_no_way_of_those_that_have_some(tmp_path: Path) -> None:
    order_files.write(ORDERS[:10], tmp_path / "a.parquet")
    order_files.write([], tmp_path / "none.parquet")
    with (tmp_path / "none.avro").open("wb") as out:
        fastavro.writer(out, fastavro.parse_schema(RECORD), [])
    for name in ("none.json", "none.jsonl", "none.ndjson"):
        (tmp_path / name).touch()
    (tmp_path / "blank.jsonl").write_text("\n\n")
    for size in SIZES:
        rows = rows_of(FileSource((str(tmp_path),)), size)
        assert [row["payload"] for row in rows] == [each.payload for each in ORDERS[:10]]


def test_messages_that_name_no_version_have_the_one_that_the_question_names(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"value": ["a", "b"], "schema_version": [None, 4]}), tmp_path / "x.parquet")
    rows = rows_of(FileSource((str(tmp_path / "x.parquet"),), version=2), 1)
    assert [row["writer"] for row in rows] == [2, 4]


def test_a_version_may_be_the_eight_bytes_that_a_broker_tells(tmp_path: Path) -> None:
    told = [None, b"", (5).to_bytes(8, "big"), b"\1", b"\xff" * 8]
    parquet.write_table(
        pa.table({"value": list("abcde"), "schema_version": pa.array(told, pa.binary())}), tmp_path / "x.parquet"
    )
    assert [row["writer"] for row in rows_of(FileSource((str(tmp_path / "x.parquet"),)), 1)] == [-1, -1, 5, -2, -2]


def damaged() -> Iterator[tuple[str, bytes, str]]:
    """Name, content, and what is said of it."""
    yield "empty.parquet", b"", "file"
    yield "no.parquet", b"PAR1 this is none PAR1", ""
    yield "no.avro", b"Obj\2", "the header at byte 0: it is no Avro container"
    yield "short.avro", b"Obj\1", "the header at byte 0: it ends too early"
    yield "unnamed.bin", b"x", "its name does not show its format"
    yield "bad.json", b'{"value": 1}\n{"value": \n', "the line at byte 13: it is not JSON"
    yield "list.json", b"[1]\n", "the line at byte 0: it is no JSON object"
    yield (
        "other.json",
        b'{"body": 1}\n',
        "neither a member 'value' nor 'value_base64'; from a shell, --column payload=NAME",
    )
    yield "base64.json", b'{"value_base64": "?"}\n', "not base64"
    yield "version.json", b'{"value": 1, "schema_version": "1"}\n', "'schema_version' is no whole number"


@pytest.mark.parametrize(("name", "content", "said"), list(damaged()), ids=[each[0] for each in damaged()])
def test_a_file_that_is_broken_is_told_with_its_place(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(SourceError) as raised:
        rows_of(FileSource((str(path),)), 1 << 30)
    assert str(path) in raised.value.message
    assert said in raised.value.message


def test_a_line_that_memory_should_not_hold_is_told_before_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    longest = b'{"value": "%s"}' % (b"x" * (json_lines.MAX_LINE - 1024))
    path.write_bytes(longest + b"\n" + b'{"value": 1}\n')
    assert len(rows_of(FileSource((str(path),)), 1 << 30)) == 2
    path.write_bytes(b'{"value": 1}\n' + b"x" * (json_lines.MAX_LINE + (2 << 20)))
    with pytest.raises(SourceError, match=r"long\.jsonl, byte 13: the line is longer than 8 MiB"):
        rows_of(FileSource((str(path),)), 1 << 30)


@pytest.mark.parametrize("where", [-1, -40, 500])
def test_a_container_that_was_cut_or_changed_is_told_with_the_block(tmp_path: Path, where: int) -> None:
    path = container(tmp_path / "nodes.avro", "deflate")
    content = bytearray(path.read_bytes())
    content[where] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(SourceError, match=r"nodes\.avro, the (block|header) at byte \d+: "):
        rows_of(FileSource((str(path),)), 1 << 30)
    path.write_bytes(content[:-30])
    with pytest.raises(SourceError, match=r"nodes\.avro, the (block|header) at byte \d+: "):
        rows_of(FileSource((str(path),)), 1 << 30)


def test_a_file_that_is_not_there_a_column_that_is_missing_and_a_file_that_changed_are_told(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"nowhere\.parquet: there is no such file"):
        FileMessages(FileSource((str(tmp_path / "nowhere.parquet"),))).plan()
    path = order_files.write(ORDERS[:10], tmp_path / "orders.parquet")
    with pytest.raises(SourceError, match="no column 'body'; its columns are: value, schema_version"):
        rows_of(FileSource((str(path),), columns=Columns(payload="body")), 1)
    for columns, name in ((Columns(key="id"), "id"), (Columns(schema_version="v"), "v"), (Columns(partition="p"), "p")):
        with pytest.raises(SourceError, match=f"no column '{name}'"):
            rows_of(FileSource((str(path),), columns=columns), 1)
    source = FileMessages(FileSource((str(path),), FileFormat.PARQUET))
    splits: Sequence[Any] = source.plan().splits
    path.write_bytes(path.read_bytes() + b"x")
    with pytest.raises(SourceError, match="has changed since the run began"):
        list(source.read(splits[0]))


def test_a_block_that_unpacks_to_more_than_memory_should_hold_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(avro_blocks, "MAX_BLOCK", 1024 * 1024)
    path = container(tmp_path / "nodes.avro", "bzip2")
    content = path.read_bytes()
    sync = content[-16:]
    head = content[: content.index(sync) + 16]
    bomb = bz2.compress(bytes(2 * 1024 * 1024), 9)
    path.write_bytes(head + encoded_long(1) + encoded_long(len(bomb)) + bomb + sync)
    with pytest.raises(SourceError, match="unpacks to more than 64 MiB"):
        rows_of(FileSource((str(path),)), 1 << 30)


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("s3://key:s3cret@archive/orders/?nonsense=s3cret", "s3://archive/orders: "),
        (
            "abfs://orders:s3cret@account.dfs.core.windows.net/a?nonsense=1",
            "abfs://orders@account.dfs.core.windows.net/a",
        ),
        ("nosuch://user:s3cret@host/a", "nosuch://host/a: "),
        ("s3://key:s3cret@[bucket/a", "s3://…: "),
    ],
)
def test_what_a_uri_has_of_secrets_is_never_told(uri: str, shown: str) -> None:
    with pytest.raises(SourceError) as failed:
        FileMessages(FileSource((uri,))).plan()
    assert str(failed.value).startswith(shown)
    assert "s3cret" not in str(failed.value)


def test_a_file_by_its_uri_is_found_as_by_its_path(tmp_path: Path) -> None:
    stored = order_files.write(ORDERS, tmp_path / "orders.parquet")
    asked = FileSource((stored.as_uri(),))
    assert FileMessages(asked).plan().names == (stored.as_uri(),)
    assert len(rows_of(asked, 1)) == len(ORDERS)
