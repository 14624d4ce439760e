"""Small files that expand to gigabytes are read in little memory, or are errors with their place."""

import io
import json
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

MIB = 1 << 20
LARGE = b"\x02" * MIB
TIMES = 1_000
MOST = 450
"""MiB; each file expands to about a gigabyte."""
BEYOND_BYTES = "more values are claimed than the payload has bytes for"
TOO_DEEP = "nested more than 700 levels deep"
TEXT = {"type": "record", "name": "Note", "fields": [{"name": "text", "type": "bytes"}]}


def read(path: Path) -> dict[str, Any]:
    """Read the file in a child process and return its result."""
    done = subprocess.run(
        [sys.executable, "-m", "support.validation.reading_process", path], capture_output=True, text=True, check=True
    )
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def repeated(values: list[bytes], times: int) -> pa.Array:
    """Return the values repeated in order, each stored once."""
    indices = np.arange(times, dtype=np.int32) % len(values)
    return pa.DictionaryArray.from_arrays(pa.array(indices), pa.array(values, pa.binary()))


def dictionary(path: Path) -> None:
    table = pa.table({"value": repeated([LARGE, b"a"], TIMES), "key": repeated([LARGE], TIMES)})
    parquet.write_table(table, path, store_schema=False)


def declared_dictionary(path: Path) -> None:
    """Write as `dictionary`, with dictionaries in Arrow's own schema, too."""
    parquet.write_table(pa.table({"value": repeated([LARGE], TIMES)}), path)


def strange_versions(path: Path) -> None:
    """Write large values in the column of versions."""
    table = pa.table({"value": ["a"] * TIMES, "schema_version": repeated([LARGE], TIMES)})
    parquet.write_table(table, path, store_schema=False)


def deltas(path: Path) -> None:
    """Write each value as equal to the previous one."""
    table = pa.table({"value": pa.chunked_array([pa.array([LARGE] * 5, pa.binary())] * (TIMES // 5))})
    coded = {"value": "DELTA_BYTE_ARRAY"}
    parquet.write_table(table, path, use_dictionary=False, column_encoding=coded, write_statistics=False)


def uneven(path: Path) -> None:
    """Write a row group of small values whose last ones are large and compressed."""
    small, large = (pa.array(values, pa.binary()) for values in ([b"\x02"] * 200_000, [LARGE] * 5))
    table = pa.table({"value": pa.chunked_array([small, *[large] * (TIMES // 5)])})
    parquet.write_table(table, path, use_dictionary=False, compression="zstd", write_statistics=False)


@pytest.mark.parametrize("make", [dictionary, declared_dictionary, strange_versions, deltas, uneven])
def test_values_that_are_stored_once_are_read_in_little_memory(tmp_path: Path, make: Callable[[Path], None]) -> None:
    path = tmp_path / "hostile.parquet"
    make(path)
    assert path.stat().st_size < 16 * MIB
    result = read(path)
    assert (result["messages"], result["error"]) == (TIMES + (200_000 if make is uneven else 0), "")
    assert result["memory"] < MOST


def test_a_row_group_that_is_large_in_its_file_is_not_held_whole(tmp_path: Path) -> None:
    count, size = 200 * 1024, 1024
    noise, ends = np.random.default_rng(1).bytes(count * size), np.arange(count + 1, dtype=np.int32) * size
    values = pa.Array.from_buffers(pa.binary(), count, [None, pa.py_buffer(ends), pa.py_buffer(noise)])
    parquet.write_table(
        pa.table({"value": values}), tmp_path / "x.parquet", use_dictionary=False, write_statistics=False
    )
    result = read(tmp_path / "x.parquet")
    assert (result["messages"], result["error"]) == (count, "")
    assert result["memory"] < 150


def test_a_message_that_is_too_large_is_reported_with_its_row(tmp_path: Path) -> None:
    path = tmp_path / "long.parquet"
    for values in (pa.array([b"a", bytes(33 * MIB)]), repeated([b"a", bytes(33 * MIB)], 4_000)):
        parquet.write_table(pa.table({"value": values}), path)
        result = read(path)
        assert result["error"] == f"{path}, row 1: its message is larger than 32 MiB"
        assert result["memory"] < MOST
    parquet.write_table(pa.table({"value": pa.array([b"a", bytes(31 * MIB)])}), path)
    assert read(path)["messages"] == 2


def test_lists_are_no_messages(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"value": [[b"a"] * 3]}), tmp_path / "x.parquet")
    assert read(tmp_path / "x.parquet")["error"].endswith("its column 'value' holds lists, maps or structures")


def blocks() -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Codecs, and what they make of many zeros."""
    yield "deflate", lambda: _fed(zlib.compressobj(1, zlib.DEFLATED, -zlib.MAX_WBITS))
    yield "zstandard", lambda: pa.compress(bytes(1024 * MIB), codec="zstd", asbytes=True)


def _fed(packing: Any) -> bytes:
    return b"".join(packing.compress(bytes(MIB)) for _ in range(512)) + packing.flush()


@pytest.mark.parametrize(("codec", "packed"), blocks(), ids=["deflate", "zstandard"])
def test_a_block_that_unpacks_to_too_many_bytes_is_reported_before_it_is_complete(
    tmp_path: Path, codec: str, packed: Callable[[], bytes]
) -> None:
    path = tmp_path / "bomb.avro"
    path.write_bytes(container(codec, 1, packed()))
    result = read(path)
    assert result["error"].startswith(f"{path}, the block at byte ")
    assert result["error"].endswith("it unpacks to more than 64 MiB")
    assert result["memory"] < MOST


def test_a_record_that_is_too_large_is_reported_with_its_block(tmp_path: Path) -> None:
    record = io.BytesIO()
    fastavro.schemaless_writer(record, fastavro.parse_schema(TEXT), {"text": bytes(33 * MIB)})
    path = tmp_path / "long.avro"
    path.write_bytes(container("deflate", 1, zlib.compress(record.getvalue(), 1)[2:-4]))
    result = read(path)
    assert "its record 0 is larger than 32 MiB" in result["error"]
    assert result["memory"] < MOST


def record(name: str, **fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": each, "type": fields[each]} for each in fields]}


def few_bytes() -> Iterator[tuple[str, Any, bytes, str]]:
    """Yield name, schema, a small record that expands to many values, and the error message."""
    yield "deep", record("Node", next=["null", "Node"]), b"\x02" * MIB, TOO_DEEP
    nulls = {"type": "array", "items": "null"}
    yield "nulls", record("Nulls", nulls=nulls), number(1 << 40), BEYOND_BYTES
    flags = {"type": "array", "items": record("Flag", flag="boolean")}
    count = 20 * MIB
    yield "flags", record("Flags", flags=flags), number(count) + bytes(count + 1), "more than 1,000,000 values"
    doubled = record("R0")
    for level in range(1, 40):
        doubled = record(f"R{level}", one=doubled, other=f"R{level - 1}")
    yield "doubled", doubled, b"", BEYOND_BYTES
    levels = range(1, 20_000)
    chained = [record("R0", flag="boolean"), *(record(f"R{n}", flag="boolean", below=f"R{n - 1}") for n in levels)]
    yield "chained", record("Holder", any=chained), number(levels[-1]) + bytes(len(chained)), TOO_DEEP


def number(value: int) -> bytes:
    """Return the number as Avro encodes it."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, "long", value)
    return out.getvalue()


@pytest.mark.parametrize(("schema", "packed", "message"), [pytest.param(*case, id=name) for name, *case in few_bytes()])
def test_a_record_that_expands_beyond_its_bytes_is_reported_with_its_block(
    tmp_path: Path, schema: Any, packed: bytes, message: str
) -> None:
    path = tmp_path / "hostile.avro"
    path.write_bytes(container("null", 1, packed, schema))
    result = read(path)
    assert result["error"].startswith(f"{path}, the block at byte ")
    assert message in result["error"]
    assert result["memory"] < MOST


def container(codec: str, count: int, packed: bytes, schema: Any = TEXT) -> bytes:
    """Return an Avro container of one block."""
    out = io.BytesIO()
    fastavro.writer(out, {"type": "null"}, [], codec="null", sync_marker=b"s" * 16)
    codec_entry = b"\x14avro.codec" + number(len(codec)) + codec.encode()
    head = out.getvalue().replace(b"\x14avro.codec\x08null", codec_entry)
    assert codec_entry in head
    text = json.dumps(schema).encode()
    head = head.replace(number(len(b'{"type": "null"}')) + b'{"type": "null"}', number(len(text)) + text)
    assert text in head
    return head + number(count) + number(len(packed)) + packed + b"s" * 16
