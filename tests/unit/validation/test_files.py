"""Messages of files are the same for all splits, and broken files are errors with their place, never verdicts."""

import base64
import bz2
import io
import json
import os
import socket
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from pyarrow import parquet

from support.schemas.avro import enum, field, mapping, record
from support.sizes import sized
from support.validation import order_files
from topicschema.validation.errors import SourceError
from topicschema.validation.request import Columns, FileFormat, FileSource
from topicschema.validation.run.batches import BATCH, MAX_MESSAGES
from topicschema.validation.sources import Split
from topicschema.validation.sources.files import avro_blocks, json_lines
from topicschema.validation.sources.files.source import FileMessages

ORDERS = order_files.orders(2_500)
SIZES = (1, 700, 5_003, 1 << 30)
FEW = sized(100, 2_500)
"""The number of messages if each byte is a split."""
TAGS = field("tags", mapping("int"))
RECORD = record("Node", field("id", "long"), field("text", ["null", "string"]), field("next", ["null", "Node"]), TAGS)
INNER = {"id": 1, "text": None, "next": None, "tags": {}}
NODES = [
    {"id": n, "text": None if n % 3 else "t" * (n % 90), "next": None if n % 7 else INNER, "tags": {"a": n}}
    for n in range(900)
]


def rows_of(files: FileSource, size: int) -> list[dict[str, Any]]:
    """Return all messages in the order of their positions."""
    source = FileMessages(files, size)
    plan = source.plan()
    batches = [batch for split in reversed(plan.splits) for batch in source.read(split)]
    assert all(batch.schema == BATCH for batch in batches)
    return sorted(
        (row for batch in batches for row in batch.to_pylist()),
        key=lambda row: (row["ledger"], row["entry"], row["batch_index"]),
    )


def encoded(value: Any, schema: Any = RECORD) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    return out.getvalue()


def container(path: Path, codec: str = "null", count: int = len(NODES)) -> Path:
    with path.open("wb") as out:
        fastavro.writer(out, fastavro.parse_schema(RECORD), NODES[:count], codec=codec, sync_interval=900)
    return path


@pytest.mark.parametrize("size", SIZES)
def test_each_row_of_parquet_is_read_once_with_all_columns(tmp_path: Path, size: int) -> None:
    first = order_files.write(ORDERS[:1_500], tmp_path / "a.parquet", 100)
    second = order_files.write(ORDERS[1_500:], tmp_path / "b.parquet", 400)
    rows = rows_of(FileSource((str(first), str(second))), size)
    assert [(row["payload"], row["writer"], row["publish_time"]) for row in rows] == [
        (each.payload, each.version, each.publish_time) for each in ORDERS
    ]
    assert [(row["partition"], row["entry"]) for row in rows[1_499:1_501]] == [(0, 1_499), (1, 0)]
    assert FileMessages(FileSource((str(first), str(second))), size).plan().messages == len(ORDERS)


@pytest.mark.parametrize("size", SIZES)
def test_each_json_line_is_read_once(tmp_path: Path, size: int) -> None:
    orders = ORDERS[:FEW] if size == 1 else ORDERS
    lines = [
        json.dumps({"value_base64": base64.b64encode(each.payload or b"").decode(), "schema_version": each.version})
        for each in orders
    ]
    path = tmp_path / "orders.jsonl"
    path.write_text("\n".join([*lines[:9], "", *lines[9:]]))
    rows = rows_of(FileSource((str(path),)), size)
    assert [(row["payload"], row["writer"]) for row in rows] == [(each.payload, each.version) for each in orders]


def test_a_line_may_have_its_payload_in_several_forms(tmp_path: Path) -> None:
    path = tmp_path / "ways.json"
    path.write_text('{"value": "t\\u00e9xt"}\n{"value": {"a": [1]}, "key": "k"}\r\n{"value": null, "partition": 9}\n')
    rows = rows_of(FileSource((str(path),), columns=Columns(partition="partition")), 1)
    assert [row["payload"] for row in rows] == ["téxt".encode(), b'{"a":[1]}', None]
    assert [(row["key"], row["partition"]) for row in rows] == [(None, -1), (b"k", -1), (None, 9)]
    whole = rows_of(FileSource((str(path),), columns=Columns(payload="")), 1)
    assert whole[1]["payload"] == b'{"value": {"a": [1]}, "key": "k"}'


@pytest.mark.parametrize("codec", ["null", "deflate", "bzip2", "xz"])
@pytest.mark.parametrize("size", SIZES)
def test_each_record_of_a_container_is_read_once_byte_for_byte_with_every_codec(
    tmp_path: Path, size: int, codec: str
) -> None:
    count = FEW if size == 1 else len(NODES)
    path = container(tmp_path / "nodes.avro", codec, count)
    rows = rows_of(FileSource((str(path),)), size)
    assert [row["payload"] for row in rows] == [encoded(each) for each in NODES[:count]]
    plan = FileMessages(FileSource((str(path),))).plan()
    assert {row["writer"] for row in rows} == set(plan.writers)
    assert [json.loads(each.schema)["name"] for each in plan.writers.values()] == ["Node"]


def test_records_of_any_size_are_separated(tmp_path: Path) -> None:
    at = field("at", {"type": "long", "logicalType": "timestamp-millis"}, default=0)
    state, amounts = field("state", enum("State", "NEW", "PAID")), field("amounts", mapping(["null", "double"]))
    schema = fastavro.parse_schema(record("Order", at, state, amounts, field("text", "string")))
    sizes = [0, 5, 600_000, 3_000_000, 1, *[400_000] * 6, *range(2_000)]
    orders = [{"at": -(1 << 62), "state": "PAID", "amounts": {"a": 1.5, "b": None}, "text": "é" * n} for n in sizes]
    path = tmp_path / "orders.avro"
    with path.open("wb") as out:
        fastavro.writer(out, schema, orders, sync_interval=1 << 30)
    payloads = [encoded(each, schema) for each in orders]
    assert [row["payload"] for row in rows_of(FileSource((str(path),)), 1 << 30)] == payloads


@pytest.mark.parametrize("codec", ["snappy", "zstandard"])
def test_a_container_with_a_codec_that_this_python_cannot_write_is_read(tmp_path: Path, codec: str) -> None:
    path = container(tmp_path / "nodes.avro")
    plain = path.read_bytes()
    sync = plain[-16:]
    head, *blocks, _ = plain.split(sync)
    packed = [_packed(block, codec) for block in blocks]
    new_head = head.replace(b"\x08null", encoded(len(codec), "long") + codec.encode())
    assert new_head != head
    path.write_bytes(sync.join([new_head, *packed, b""]))
    assert [row["payload"] for row in rows_of(FileSource((str(path),)), 1 << 30)] == [encoded(each) for each in NODES]


def _packed(block: bytes, codec: str) -> bytes:
    stream = io.BytesIO(block)
    count, size = (fastavro.schemaless_reader(stream, "long", None) for _ in range(2))
    content = stream.read(size)
    if codec == "snappy":
        content = pa.compress(content, codec="snappy", asbytes=True) + zlib.crc32(content).to_bytes(4, "big")
    else:
        content = pa.compress(content, codec="zstd", asbytes=True)
    return encoded(count, "long") + encoded(len(content), "long") + content


def test_a_folder_is_read_without_its_hidden_files(tmp_path: Path) -> None:
    for name in ("b/part-1.parquet", "a.parquet", "_temporary/x.parquet", ".hidden.parquet", "_SUCCESS"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        order_files.write(ORDERS[:10], tmp_path / name)
    plan = FileMessages(FileSource((str(tmp_path),))).plan()
    assert plan.files == (f"{tmp_path}/a.parquet", f"{tmp_path}/b/part-1.parquet")
    assert FileMessages(FileSource((tmp_path.as_uri(),))).plan().messages == 20


def names_of(folder: Path) -> list[str]:
    return [each.removeprefix(f"{folder}/") for each in FileMessages(FileSource((str(folder),))).plan().files]


def test_each_real_file_of_a_folder_is_read_once_despite_links(tmp_path: Path) -> None:
    folder, outside = tmp_path / "in", tmp_path / "outside"
    for each in (folder / "b", outside):
        each.mkdir(parents=True)
        order_files.write(ORDERS[:10], each / f"{each.name}.parquet")
    (folder / "again").symlink_to(folder)
    (folder / "b" / "up").symlink_to("..")
    (folder / "c").symlink_to("b")
    (folder / "far").symlink_to(outside)
    (folder / "link.parquet").symlink_to(outside / "outside.parquet")
    (folder / "hard.parquet").hardlink_to(folder / "b" / "b.parquet")
    (folder / "_gone").symlink_to("nowhere")
    assert names_of(folder) == ["b/b.parquet", "far/outside.parquet"]
    assert FileMessages(FileSource((str(folder),))).plan().messages == 20


def bound_socket(at: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(at))


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda at: at.symlink_to("nowhere"), r"it is a link that leads to no file"),
        (lambda at: at.symlink_to(at.name), r"it is a link that leads to no file"),
        (os.mkfifo, r"it is a pipe, neither a file nor a folder"),
        (lambda at: at.symlink_to("/dev/null"), r"it is a device, neither a file nor a folder"),
        (bound_socket, r"it is a socket, neither a file nor a folder"),
    ],
)
@pytest.mark.parametrize("is_named", [True, False])
def test_an_unreadable_entry_gives_no_verdict(
    tmp_path: Path, spoil: Callable[[Path], None], reason: str, *, is_named: bool
) -> None:
    order_files.write(ORDERS[:10], tmp_path / "a.parquet")
    spoil(tmp_path / "b.parquet")
    with pytest.raises(SourceError, match=rf"b\.parquet: {reason}"):
        FileMessages(FileSource((str(tmp_path / "b.parquet" if is_named else tmp_path),))).plan()


def test_a_name_that_is_not_utf_8_gives_no_verdict(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/od\xffd.jsonl")).write_text("{}")
    with pytest.raises(SourceError, match=r"od\\xffd\.jsonl: its name is not UTF-8"):
        names_of(tmp_path)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        *((name, b"") for name in ("a.jsonl.gz", "a.json.ZST", "a.avro.bz2", "a.parquet.xz", "a.zip")),
        *(("a.jsonl", each) for each in (zlib.compress(b"{}", wbits=31), bz2.compress(b"{}"), b"\x28\xb5\x2f\xfd")),
    ],
)
def test_compressed_files_are_reported(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    for form in (None, FileFormat.JSON):
        with pytest.raises(SourceError, match=f"{name}: compressed files are not read: unpack it"):
            FileMessages(FileSource((str(tmp_path),), form)).plan()


def test_files_without_messages_are_read_beside_others(tmp_path: Path) -> None:
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


@pytest.mark.parametrize(
    ("versions", "default", "writers"),
    [
        (None, None, [-1]),
        (None, 2, [2]),
        (pa.array([None, 4]), 2, [2, 4]),
        (pa.array([None, b"", (5).to_bytes(8), b"\1", b"\xff" * 8], pa.binary()), None, [-1, -1, 5, -2, -2]),
    ],
)
def test_writer_is_a_number_or_the_eight_bytes_of_a_broker(
    tmp_path: Path, versions: pa.Array | None, default: int | None, writers: list[int]
) -> None:
    path = tmp_path / "x.parquet"
    columns = {"value": ["a"] * len(writers)} | ({} if versions is None else {"schema_version": versions})
    parquet.write_table(pa.table(columns), path)
    assert [row["writer"] for row in rows_of(FileSource((str(path),), version=default), 1)] == writers


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.parquet", b"", "file"),
        ("no.parquet", b"PAR1 this is none PAR1", ""),
        ("no.avro", b"Obj\2", "the header at byte 0: it is no Avro container"),
        ("short.avro", b"Obj\1", "the header at byte 0: it ends too early"),
        ("unnamed.bin", b"x", "its name does not show its format"),
        ("bad.json", b'{"value": 1}\n{"value": \n', "the line at byte 13: it is not JSON"),
        ("list.json", b"[1]\n", "the line at byte 0: it is no JSON object"),
        ("other.json", b'{"body": 1}\n', "neither a member 'value' nor 'value_base64'; from a shell, --column"),
        ("base64.json", b'{"value_base64": "?"}\n', "not base64"),
        ("version.json", b'{"value": 1, "schema_version": "1"}\n', "'schema_version' is no whole number"),
    ],
)
def test_broken_file_is_reported_with_its_place(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(SourceError) as raised:
        rows_of(FileSource((str(path),)), 1 << 30)
    assert str(path) in raised.value.message
    assert words in raised.value.message


def test_a_line_that_is_too_long_is_reported_before_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    longest = b'{"value": "%s"}' % (b"x" * (json_lines.MAX_LINE - 1024))
    path.write_bytes(longest + b"\n" + b'{"value": 1}\n')
    assert len(rows_of(FileSource((str(path),)), 1 << 30)) == 2
    path.write_bytes(b'{"value": 1}\n' + b"x" * (json_lines.MAX_LINE + (2 << 20)))
    with pytest.raises(SourceError, match=r"long\.jsonl, byte 13: the line is longer than 8 MiB"):
        rows_of(FileSource((str(path),)), 1 << 30)


@pytest.mark.parametrize("where", [-1, -40, 500])
def test_a_truncated_or_changed_container_is_reported_with_the_block(tmp_path: Path, where: int) -> None:
    path = container(tmp_path / "nodes.avro", "deflate")
    content = bytearray(path.read_bytes())
    content[where] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(SourceError, match=r"nodes\.avro, the (block|header) at byte \d+: "):
        rows_of(FileSource((str(path),)), 1 << 30)
    path.write_bytes(content[:-30])
    with pytest.raises(SourceError, match=r"nodes\.avro, the (block|header) at byte \d+: "):
        rows_of(FileSource((str(path),)), 1 << 30)


def test_missing_file_and_missing_column_are_reported(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"nowhere\.parquet: there is no such file"):
        FileMessages(FileSource((str(tmp_path / "nowhere.parquet"),))).plan()
    path = order_files.write(ORDERS[:10], tmp_path / "orders.parquet")
    with pytest.raises(SourceError, match="no column 'body'; its columns are: value, schema_version"):
        rows_of(FileSource((str(path),), columns=Columns(payload="body")), 1)
    for columns, name in ((Columns(key="id"), "id"), (Columns(schema_version="v"), "v"), (Columns(partition="p"), "p")):
        with pytest.raises(SourceError, match=f"no column '{name}'"):
            rows_of(FileSource((str(path),), columns=columns), 1)


def test_a_block_that_unpacks_to_too_many_bytes_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(avro_blocks, "MAX_BLOCK", 1024 * 1024)
    path = container(tmp_path / "nodes.avro", "bzip2")
    content = path.read_bytes()
    sync = content[-16:]
    head = content[: content.index(sync) + 16]
    bomb = bz2.compress(bytes(2 * 1024 * 1024), 9)
    path.write_bytes(head + encoded(1, "long") + encoded(len(bomb), "long") + bomb + sync)
    with pytest.raises(SourceError, match="unpacks to more than 64 MiB"):
        rows_of(FileSource((str(path),)), 1 << 30)


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("s3://key:s3cret@archive/orders/?nonsense=s3cret", "s3://archive/orders: "),
        ("abfs://orders:s3cret@account.dfs.core.windows.net/a?x=1", "abfs://orders@account.dfs.core.windows.net/a"),
        ("nosuch://user:s3cret@host/a", "nosuch://host/a: "),
        ("s3://key:s3cret@[bucket/a", "s3://…: "),
    ],
)
def test_secrets_of_a_uri_are_never_printed(uri: str, shown: str) -> None:
    with pytest.raises(SourceError) as failed:
        FileMessages(FileSource((uri,))).plan()
    assert str(failed.value).startswith(shown)
    assert "s3cret" not in str(failed.value)


def _part(split: Split, changed: int | None) -> Split:
    """Return the split of a file whose last change is at that time."""
    return replace(split, what=replace(split.what, file=replace(split.what.file, changed=changed)))


def test_a_rewritten_file_of_the_same_size_is_reported_before_and_during_reading(tmp_path: Path) -> None:
    path = tmp_path / "orders.jsonl"
    path.write_bytes(b'{"value": 1}\n' * MAX_MESSAGES * 2)
    source = FileMessages(FileSource((str(path),)))
    (split,) = source.plan().splits
    reading = source.read(split)
    next(reading)
    later = path.stat().st_mtime_ns + 2_000_000_000
    path.write_bytes(path.read_bytes().replace(b"1", b"2"))
    os.utime(path, ns=(later, later))  # times in whole seconds are not compared more exactly
    with pytest.raises(SourceError, match=r"orders\.jsonl: the file has changed since the run began"):
        list(reading)
    with pytest.raises(SourceError, match=r"orders\.jsonl: the file has changed since the run began"):
        next(source.read(split))


@pytest.mark.parametrize("changed", [None, 0])
def test_a_file_of_a_store_without_modification_times_is_read(tmp_path: Path, changed: int | None) -> None:
    path = order_files.write(ORDERS[:10], tmp_path / "orders.parquet")
    source = FileMessages(FileSource((str(path),)))
    (split,) = source.plan().splits
    assert sum(map(len, source.read(_part(split, changed)))) == 10
    with pytest.raises(SourceError, match="has changed"):
        list(source.read(_part(split, 1)))


def test_pairs_with_keys_apart_are_not_judged_without_their_keys(tmp_path: Path) -> None:
    stored, lines = order_files.write(ORDERS[:10], tmp_path / "orders.parquet"), tmp_path / "orders.jsonl"
    lines.write_text(json.dumps({"value": "{}", "Key": "a"}) + "\n")
    for path, message in ((stored, "no column 'key'"), (lines, "none of its first lines has a member 'key'")):
        with pytest.raises(SourceError, match=message):
            FileMessages(FileSource((str(path),)), has_keys=True).plan()
        assert FileMessages(FileSource((str(path),))).plan().splits
    with pytest.raises(SourceError, match="a member 'orderKey'"):
        FileMessages(FileSource((str(lines),), columns=Columns(key="orderKey"))).plan()
    named = FileMessages(FileSource((str(lines),), columns=Columns(key="Key")), has_keys=True)
    (batch,) = named.read(named.plan().splits[0])
    assert batch["key"].to_pylist() == [b"a"]
    first = json.dumps({"value": "x" * 100_000, "key": "a"}) + "\n"
    for text in (json.dumps({"value": "{}", "key_base64": "AP8="}) + "\n", first, first * 3):
        lines.write_text(text)
        assert FileMessages(FileSource((str(lines),)), has_keys=True).plan().splits
    lines.write_text('{"value": "{}", "schlüssel": "a"}')
    assert FileMessages(FileSource((str(lines),), columns=Columns(key="schlüssel")), has_keys=True).plan().splits
