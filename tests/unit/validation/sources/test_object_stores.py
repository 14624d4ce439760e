"""Messages in an S3 store: read in ranges, with the credentials of the environment."""

import base64
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fastavro
import pytest

from support.validation import order_files
from support.validation.object_store import ObjectStore
from testbed.instances import Instance
from topicschema.validation.request import FileSource
from topicschema.validation.sources.files.source import FileMessages

ORDERS = order_files.orders(3_000, share=0.05)
BAD = order_files.reasons(ORDERS)
ALL = ("--history", "v0.avsc", "--history", "v1.avsc")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("schemas")
    for number, info in {**order_files.VERSIONS, 2: order_files.CANDIDATE}.items():
        (folder / f"v{number}.avsc").write_bytes(info.schema)
    return folder


@pytest.fixture(scope="module")
def store(instance: Instance, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> ObjectStore:
    """Start a store with the orders in all formats."""
    store = ObjectStore.start(instance, tmp_path_factory.mktemp("buckets"))
    for number in range(3):
        path = order_files.write(ORDERS[number * 1_000 : (number + 1) * 1_000], folder / "part.parquet", 300)
        store.put(f"archive/orders/{number}.parquet", path.read_bytes())
    store.put("archive/orders/_SUCCESS", b"")
    store.put("archive/lines/orders.jsonl", b"".join(lines()))
    store.put("archive/containers/orders.avro", container())
    return store


def lines() -> Iterator[bytes]:
    for each in ORDERS:
        line = {"value_base64": base64.b64encode(each.payload or b"").decode(), "schema_version": each.version}
        yield json.dumps(line).encode() + b"\n"


def container() -> bytes:
    """Return a container with orders of the first version."""
    out = io.BytesIO()
    schema = fastavro.parse_schema(json.loads(order_files.VERSIONS[0].schema))
    fastavro.writer(out, schema, ({"id": number, "note": "x" * 40} for number in range(5_000)))
    return out.getvalue()


def validated(folder: Path, environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    variables = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")} | environment
    command = [sys.executable, "-m", "topicschema", "validate-messages", "--schema", "v2.avsc", *ALL, *arguments]
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)


def report(folder: Path, store: ObjectStore, path: str) -> dict[str, Any]:
    done = validated(folder, store.environment, "--report", "-", store.uri(path))
    assert done.stderr == ""
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.mark.parametrize("path", ["archive/orders", "archive/lines/orders.jsonl"])
def test_messages_of_a_bucket_have_the_figures_that_they_have_in_files(
    folder: Path, store: ObjectStore, path: str
) -> None:
    result = report(folder, store, path)
    assert result["messages"] == len(ORDERS)
    assert {each["reason"]: each["messages"] for each in result["byReason"]} == BAD
    assert all(each["name"].startswith(f"s3://{path}") for each in result["byPartition"])


def test_containers_of_a_bucket_are_read_with_their_own_schema(folder: Path, store: ObjectStore) -> None:
    result = report(folder, store, "archive/containers")
    assert (result["messages"], result["invalid"]) == (5_000, 0)


def test_an_object_is_read_in_ranges_each_message_once(store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in store.environment.items():
        monkeypatch.setenv(name, value)
    for path, count in (("orders", 3_000), ("lines", 3_000), ("containers", 5_000)):
        source = FileMessages(FileSource((store.uri(f"archive/{path}"),)), 20_000)
        splits = source.plan().splits
        assert len(splits) > 3
        rows = [row for split in splits for batch in source.read(split) for row in batch.to_pylist()]
        assert len({(row["ledger"], row["entry"], row["batch_index"]) for row in rows}) == len(rows) == count


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nowhere/orders", "s3://nowhere/orders: there is no bucket 'nowhere'"),
        ("archive/nothing.parquet", "s3://archive/nothing.parquet: there is no such file"),
    ],
)
def test_a_missing_bucket_or_key_is_reported_and_ends_with_3(
    folder: Path, store: ObjectStore, path: str, message: str
) -> None:
    done = validated(folder, store.environment, store.uri(path))
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == f"topicschema validate-messages: the run failed: {message}\n"


def test_wrong_credentials_give_no_verdict_and_the_secret_is_not_printed(folder: Path, store: ObjectStore) -> None:
    wrong = {**store.environment, "AWS_SECRET_ACCESS_KEY": "n0t-the-s3cret"}
    done = validated(folder, wrong, store.uri("archive/orders"))
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("topicschema validate-messages: the run failed: s3://archive/orders: ")
    assert "ACCESS_DENIED" in done.stderr or "denied" in done.stderr
    assert "n0t-the-s3cret" not in done.stderr
