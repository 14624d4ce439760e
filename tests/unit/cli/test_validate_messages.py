"""The contract of `topicschema validate-messages`: exit codes, output, files that it writes.

A test takes some seconds: the command imports pyarrow and starts its workers.
"""

import base64
import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import fastavro
import pytest

from support import command_line
from support.validation import order_files
from topicschema.core.schemas import NEWEST

ORDERS = order_files.orders(600, share=0.05)
BAD = order_files.reasons(ORDERS)
MANIFEST = """apiVersion: topicschema.io/v1alpha1
kind: TopicSchema
metadata: {name: orders}
spec:
  topic: persistent://shop/orders/created
  type: AVRO
  schema: |
"""


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("messages")
    order_files.write(ORDERS, folder / "orders.parquet")
    order_files.write([each for each in ORDERS if not each.reason], folder / "good.parquet")
    for number, info in order_files.VERSIONS.items():
        (folder / f"v{number}.avsc").write_bytes(info.schema)
    (folder / "v2.avsc").write_bytes(order_files.CANDIDATE.schema)
    (folder / "v2.yaml").write_text(MANIFEST + "    " + order_files.CANDIDATE.schema.decode() + "\n---\nkind: Other\n")
    (folder / "two.yaml").write_text(MANIFEST + "    x\n---\n" + MANIFEST + "    x\n")
    (folder / "broken.parquet").write_bytes(b"PAR1")
    return folder


def run(here: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "topicschema", "validate-messages", *arguments]
    return subprocess.run(command, cwd=here, capture_output=True, text=True, check=False)


BY_NEWEST = f"Judged by the rules of Pulsar {NEWEST}.\n"
ALL = ("--history", "v0.avsc", "--history", "v1.avsc")


def test_messages_that_do_not_pass_are_listed_with_their_reasons_and_the_report_becomes_a_page(here: Path) -> None:
    done = run(here, "--schema", "v2.avsc", *ALL, "--writers", "--report", "r.json", "orders.parquet")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith(f"600 messages judged, {sum(BAD.values())} invalid: they do not pass\n")
    assert all(f"{count:>12}  {reason} at $" in done.stdout for reason, count in BAD.items() if reason != "TRUNCATED")
    assert "what to do: docs/validation-reasons.md" in done.stdout
    report = json.loads((here / "r.json").read_text())
    assert report["invalid"] == sum(BAD.values())
    assert command_line.run(here, "report", "r.json", "-o", "p.html").returncode == 0
    shown = command_line.run(here, "report", "r.json").stdout
    assert (here / "p.html").read_text() == shown
    assert shown.startswith("<!DOCTYPE html>")
    assert shown.rstrip().endswith("</html>")
    failed = command_line.run(here, "report", "r.json", "-o", "nowhere/p.html")
    assert (failed.returncode, failed.stdout) == (2, "")
    assert "nowhere/p.html: No such file or directory" in failed.stderr


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"verdict": 5}', b"\xff", b"[" * 100_000])
def test_a_file_that_is_no_report_becomes_no_page(here: Path, content: bytes) -> None:
    (here / "other.json").write_bytes(content)
    done = command_line.run(here, "report", "other.json")
    assert (done.returncode, done.stdout) == (2, "")
    assert "other.json: not a report of a validation" in done.stderr


def test_writers_is_a_table_of_numbers_and_times_by_schema_version(here: Path) -> None:
    lines = ["    messages     invalid  oldest                newest                written with"]
    for version, name in ((1, "version 1"), (0, "version 0"), (order_files.UNKNOWN_VERSION, "unknown versions")):
        own = [each for each in ORDERS if each.version == version]
        ends = [datetime.fromtimestamp(each.publish_time // 1000, UTC) for each in (own[0], own[-1])]
        times = "  ".join(each.strftime("%Y-%m-%dT%H:%M:%SZ") for each in ends)
        lines.append(f"{len(own):>12}  {sum(bool(each.reason) for each in own):>10}  {times}  {name}")
    arguments = ("--schema", "v2.avsc", *ALL, "orders.parquet")
    table = "\n\n" + "\n".join(lines) + "\n" + BY_NEWEST
    assert run(here, *arguments, "--writers").stdout.endswith(table)
    assert "written with" not in run(here, *arguments).stdout


def test_values_that_readers_lose_are_listed_though_all_messages_pass(here: Path) -> None:
    done = run(here, "--schema", "v2.avsc", *ALL, "good.parquet")
    lost = sum(each.version == 0 and not each.reason for each in ORDERS)
    assert f"\n\nReadable, but values are lost:\n{lost:>12}  FIELD_DROPPED at $.note\n\n" in done.stdout
    assert done.returncode == 0


def test_messages_that_pass_by_a_manifest_as_json(here: Path) -> None:
    done = run(here, "--schema", "v2.yaml", *ALL, "--report", "-", "--seed", "4", "good.parquet")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["verdict"] == "Pass"


def test_a_writer_whose_default_does_not_fit_is_judged_as_java_reads_it(here: Path) -> None:
    """Validate the defaults of the proposed schema, but not those of a writer."""
    items = {"name": "a", "type": {"type": "array", "items": "string"}}
    for name, default in (("null.avsc", None), ("empty.avsc", [])):
        schema = {"type": "record", "name": "R", "fields": [items | {"default": default}]}
        (here / name).write_text(json.dumps(schema))
    line = {"value_base64": base64.b64encode(bytes.fromhex("02026100")).decode(), "schema_version": 0}
    (here / "arrays.jsonl").write_text(json.dumps(line) + "\n")
    done = run(here, "--schema", "empty.avsc", "--history", "null.avsc", "arrays.jsonl")
    assert (done.returncode, done.stdout) == (0, f"1 messages judged, 0 invalid: they pass\n{BY_NEWEST}")
    done = run(here, "--schema", "null.avsc", "--history", "null.avsc", "arrays.jsonl")
    assert done.returncode == 2
    assert "INVALID_DEFAULT" in done.stderr


@pytest.mark.parametrize(
    ("written", "instead", "readers"),
    [(b"Order", b"Ord$r", {"5.0"}), (b"shop.ax", b"shop.1x", {"4.0"}), (b": 1234", b": null", {"4.0", "5.0"})],
)
def test_the_pulsar_version_judges_a_container_and_is_named(
    here: Path, written: bytes, instead: bytes, readers: set[str]
) -> None:
    fields = [{"name": "id", "type": "long", "default": 1234}]
    schema = {"type": "record", "name": "Order", "namespace": "shop.ax", "fields": fields}
    with (here / "named.avro").open("wb") as out:
        fastavro.writer(out, schema, [{"id": 1}])
    (here / "named.avro").write_bytes((here / "named.avro").read_bytes().replace(written, instead))
    (here / "reader.avsc").write_text(json.dumps(schema))
    for version in ("4.0", "5.0"):
        done = run(here, "--schema", "reader.avsc", "--pulsar-version", version, "--report", "n.json", "named.avro")
        report = json.loads((here / "n.json").read_text())
        assert [each["reason"] for each in report["byReason"]] == (
            [] if version in readers else ["INVALID_WRITER_SCHEMA"]
        )
        assert report["pulsarVersion"] == version
        assert done.stdout.endswith(f"\nJudged by the rules of Pulsar {version}.\n")


@pytest.mark.parametrize(("schema", "name"), [('"boolean"', "AVRO"), ("", "BOOLEAN")])
def test_a_boolean_of_byte_2_is_judged_as_validate_does(here: Path, schema: str, name: str) -> None:
    (here / "boolean").write_text(schema)
    (here / "two").write_bytes(b"\x02")
    line = {"value_base64": base64.b64encode(b"\x02").decode(), "schema_version": 0}
    (here / "booleans.jsonl").write_text(json.dumps(line) + "\n")
    options = ("--type", name, "--schema", "boolean")
    done = run(here, *options, "--history", "boolean", "--report", "-", "booleans.jsonl")
    [reason] = json.loads(done.stdout)["byReason"]
    done = command_line.run(here, "validate", *options, "-o", "json", "two")
    [finding] = json.loads(done.stdout)["findings"]
    assert (reason["reason"], reason["tolerated"]) == ("INVALID_BOOLEAN", True)
    assert (finding["rule"], finding["isTolerated"]) == ("INVALID_BOOLEAN", True)


def test_a_folder_without_messages_passes_with_a_note_and_without_a_table_of_writers(here: Path) -> None:
    (here / "empty").mkdir()
    done = run(here, "--schema", "v2.avsc", "--writers", "empty")
    text = f"0 messages judged, 0 invalid: they pass\nthere are no messages to judge\n{BY_NEWEST}"
    assert (done.returncode, done.stdout) == (0, text)


WRONG = {
    "--schema v2.avsc --column payload orders.parquet": "write WHAT=NAME",
    "--schema two.yaml orders.parquet": "two.yaml has 2 TopicSchemas",
    "--schema v2.yaml --type AVRO orders.parquet": "remove --type",
    "orders.parquet": "name the proposed schema",
    "--schema v2.avsc --written-with 3 orders.parquet": "no --history has that number",
    "--schema v2.avsc --percent 101 orders.parquet": "percent must be from 1 to 100",
    "--schema v2.avsc --since soon orders.parquet": "write 90m, 168h or 7d",
    "--schema v2.avsc --since xh orders.parquet": "write 90m, 168h or 7d",
    "--schema v2.avsc --since 0h orders.parquet": "write a whole number from 1 on, not '0'",
    "--schema v2.avsc --max-messages many orders.parquet": "write a whole number from 1 on, not 'many'",
    "--schema v2.avsc --first-version=-1 orders.parquet": "write a whole number from 0 on, not '-1'",
    "--schema v2.avsc --report nowhere/r.json orders.parquet": "nowhere/r.json: cannot write a file there",
    "--schema v2.avsc --report . orders.parquet": ".: cannot write a file there",
    "--schema orders.parquet orders.parquet": "orders.parquet: ",
    "--schema v2.avsc --pulsar http://a pulsar://b one two": "name one topic",
    "--schema v2.avsc --pulsar http://a pulsar://b created": "it must read persistent://TENANT/NAMESPACE/TOPIC",
    "--schema v2.avsc --pulsar pulsar://b http://a persistent://a/b/c": "write http://HOST:PORT or https://HOST:PORT",
    "--schema v2.avsc --pulsar http://a pulsar://b --token-file none persistent://a/b/c": "the file does not exist",
    "--schema v2.avsc -": "name a file or a folder",
}


@pytest.mark.parametrize("arguments", WRONG)
def test_wrong_input_is_an_error_with_its_reason_and_ends_with_2(here: Path, arguments: str) -> None:
    done = run(here, *arguments.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert WRONG[arguments] in done.stderr


@pytest.mark.parametrize("file", ["broken.parquet", "nowhere.parquet"])
def test_a_run_that_failed_has_no_verdict_and_ends_with_3(here: Path, file: str) -> None:
    done = run(here, "--schema", "v2.avsc", file)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith(f"topicschema validate-messages: the run failed: {file}: ")
