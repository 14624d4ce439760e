"""Runs on this machine, from the question to report, page, driver and command."""

import json
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from pyarrow import parquet

from support.validation import order_files
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.validation import job
from topicschema.validation.errors import InvalidRequestError, RunError
from topicschema.validation.job.result import ExecutorsNeeded, VerdictDocument, read
from topicschema.validation.report.html_report import page
from topicschema.validation.report.report import Report
from topicschema.validation.request import Sample, Tolerance, ValidationRequest
from topicschema.validation.run import driver, local, program, runner
from topicschema.validation.sources import Plan
from topicschema.validation.sources.files.source import FileMessages

ORDERS = order_files.orders(4_000)
BAD = order_files.reasons(ORDERS)


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    return order_files.write(ORDERS, tmp_path / "orders.parquet")


def run(request: ValidationRequest, split: int = 1 << 30, processes: int = 1) -> Report:
    return runner.run(request, order_files.source(request, split), workers=processes)


def figures(report: Report) -> dict[str, Any]:
    """Return all figures but those of the run itself."""
    return {name: value for name, value in report.document.items() if name not in {"startedAt", "seconds", "plan"}}


def by_writer() -> list[dict[str, Any]]:
    """Return the expected figures of each version."""
    rows = []
    for version, name in ((1, "version 1"), (0, "version 0"), (None, "unknown versions")):
        own = [each for each in ORDERS if each.version == (order_files.UNKNOWN_VERSION if version is None else version)]
        times = [datetime.fromtimestamp(each.publish_time // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") for each in own]
        bad = sum(bool(each.reason) for each in own)
        row = {"schemaVersion": version, "name": name, "messages": len(own), "invalid": bad}
        rows.append({**row, "oldest": min(times), "newest": max(times)})
    return rows


def test_any_number_of_splits_and_processes_gives_the_same_exact_figures(stored: Path) -> None:
    request = order_files.validation_request(stored, include_values=True)
    one = run(request)
    assert figures(run(request, 1)) == figures(one)
    assert figures(run(request, 1, 2)) == figures(one)
    assert {each["reason"]: each["messages"] for each in one.document["byReason"]} == BAD
    assert one.document["invalid"] == sum(BAD.values())
    assert sum(each["messages"] for each in one.document["byHour"]["rows"]) == len(ORDERS)
    assert one.document["byWriter"] == by_writer()
    assert len(one.document["examples"]) == 10
    assert {each["reason"] for each in one.document["examples"]} == set(BAD)


def test_processes_get_the_schemas_that_containers_bring(tmp_path: Path) -> None:
    schema = fastavro.parse_schema(json.loads(order_files.VERSIONS[1].schema))
    with (tmp_path / "orders.avro").open("wb") as out:
        fastavro.writer(out, schema, [{"id": each} for each in range(900)], sync_interval=1_000)
    request = order_files.validation_request(tmp_path / "orders.avro")
    assert figures(run(request, 1_000, 2)) == figures(run(request))
    assert run(request).document["invalid"] == 0


def test_values_are_shown_only_on_request(stored: Path) -> None:
    assert not any("value" in each for each in run(order_files.validation_request(stored)).document["examples"])
    shown = run(order_files.validation_request(stored, include_values=True)).document["examples"]
    assert all(each["value"] for each in shown)


def test_messages_pass_up_to_the_tolerance(stored: Path) -> None:
    rate = -(-1_000_000 * sum(BAD.values()) // len(ORDERS))
    assert run(order_files.validation_request(stored, tolerance=Tolerance(rate))).passes
    assert not run(order_files.validation_request(stored, tolerance=Tolerance(rate - 1))).passes


def test_a_sample_is_the_same_however_it_is_split(stored: Path) -> None:
    request = order_files.validation_request(stored, sample=Sample(percent=25, seed=9))
    whole = run(request)
    assert figures(run(request, 1)) == figures(whole)
    assert whole.document["messages"] + whole.document["leftOut"] == len(ORDERS)
    assert 800 < whole.document["messages"] < 1_200


class Guessing(FileMessages):
    """Files that take themselves for far larger than they are, as a source that can only guess may."""

    def plan(self) -> Plan:
        plan = super().plan()
        return replace(plan, splits=tuple(replace(each, messages=1_000_000) for each in plan.splits))


def test_an_empty_sample_is_no_verdict_and_a_far_too_small_one_has_a_note(stored: Path) -> None:
    def judged(sample: Sample) -> Report:
        request = order_files.validation_request(stored, sample=sample, tolerance=Tolerance(1_000_000))
        assert request.files is not None
        return runner.run(request, Guessing(request.files), workers=1)

    with pytest.raises(RunError, match="the sample took none of 4000 messages: raise maxMessages or percent"):
        judged(Sample(max_messages=1))
    few = judged(Sample(max_messages=3_000)).document
    assert 0 < few["messages"] < 100
    assert "the sample was to take about 3,000 messages, but how many there are was only guessed" in few["notes"]
    assert judged(Sample(since_seconds=1)).document["notes"] == ["all messages are older than the sample"]
    assert judged(Sample()).document["notes"] == []


def test_no_messages_pass_with_a_note(tmp_path: Path) -> None:
    report = run(order_files.validation_request(order_files.write([], tmp_path / "none.parquet")))
    assert report.passes
    assert report.document["notes"] == ["there are no messages to judge"]
    assert "there are no messages" in page(report.document)


def test_an_invalid_candidate_is_an_invalid_request(stored: Path) -> None:
    request = replace(order_files.validation_request(stored), candidate=SchemaInfo(SchemaType.AVRO, b"{"))
    with pytest.raises(InvalidRequestError, match="the proposed schema cannot be judged with"):
        run(request)


def test_hostile_bytes_are_reasons(tmp_path: Path) -> None:
    endless = b"\xfe\xff\xff\xff\xff\xff\xff\xff\x7f"
    payloads = [None, b"", endless, endless * 3, b"\xff" * 64, bytes(5_000_000), b"\x02" * 100_000]
    path = tmp_path / "hostile.parquet"
    table = {"value": pa.array(payloads, pa.binary()), "schema_version": [0, 0, 1, 0, 1, 0, -9]}
    parquet.write_table(pa.table(table | {"publish_time": [-5, 0, (1 << 63) - 1, -(1 << 63), 1, 2, 3]}), path)
    report = run(order_files.validation_request(path, include_values=True))
    assert report.document["messages"] == 7
    assert report.document["invalid"] >= 5
    assert len(report.verdict.text) <= 4096
    json.loads(report.text)


def test_a_worker_that_is_killed_ends_the_run_without_a_verdict(stored: Path, tmp_path: Path) -> None:
    from support.validation.killed_workers import KillingFiles  # noqa: PLC0415  # beside the tests

    request = order_files.validation_request(stored)
    source = KillingFiles(order_files.source(request, 1), tmp_path / "died")
    with pytest.raises(RunError, match="was killed"):
        runner.run(request, source, workers=2)
    assert (tmp_path / "died").exists()


def test_few_messages_are_judged_without_other_processes() -> None:
    assert local.processes_for(local.WORTH - 1) == 1
    assert 1 <= local.processes_for(10**9) <= local.MOST


def test_the_page_is_whole_and_what_came_from_outside_is_text_in_it(stored: Path) -> None:
    evil = "<script>alert('x')</script>\"&"
    document = json.loads(json.dumps(run(order_files.validation_request(stored, include_values=True)).document))
    document["topic"] = document["requestHash"] = evil
    document["notes"].append(evil)
    document["losses"].append({"kind": evil, "path": evil, "messages": 1})
    document["readTo"][evil] = evil
    for table in ("byReason", "byPlace", "byWriter", "byPartition", "examples"):
        for row in document[table]:
            row.update({name: evil for name, value in row.items() if isinstance(value, str) and name != "oldest"})
    text = page(document)
    assert "<script" not in text
    assert all(text.count(f"<{tag}") == text.count(f"</{tag}>") > 0 for tag in ("svg", "table", "article", "section"))
    assert "http" not in text.replace("http-equiv", "")


def run_driver(folder: Path, request: ValidationRequest) -> tuple[int, str]:
    packed = request.pack().content
    (folder / "request.xz.000").write_bytes(packed[:40])
    (folder / "request.xz.001").write_bytes(packed[40:])
    status = driver.main([str(folder), "--termination-log", str(folder / "log")])
    return status, (folder / "log").read_text()


def test_a_driver_whose_work_is_more_than_one_pod_s_ends_with_the_executors_that_it_needs(tmp_path: Path) -> None:
    path = order_files.write(ORDERS, tmp_path / "orders.parquet")
    request = order_files.validation_request(path, max_executors=2, spark_from_milliseconds=1)
    status, message = run_driver(tmp_path, request)
    assert (status, read(message)) == (0, ExecutorsNeeded(request_hash=request.sha256, executors=2))
    status, message = run_driver(tmp_path, replace(request, max_executors=0))
    verdict = read(message)
    assert isinstance(verdict, VerdictDocument)
    assert verdict.plan.endswith("judged by one process")


def test_a_driver_never_ends_as_a_verdict_where_there_is_none(tmp_path: Path) -> None:
    gone = order_files.validation_request(tmp_path / "gone.parquet")
    status, message = run_driver(tmp_path, gone)
    assert status == program.FAILED
    assert message.endswith("gone.parquet: there is no such file")
    (tmp_path / "request.xz.001").unlink()
    assert driver.main([str(tmp_path), "--termination-log", str(tmp_path / "log")]) == program.FAILED
    assert "not whole" in (tmp_path / "log").read_text()
    stored = order_files.write(ORDERS, tmp_path / "orders.parquet")
    executors = order_files.validation_request(stored, executors=2)
    status, message = run_driver(tmp_path, executors)
    assert status == program.FAILED
    assert "executors need a driver that is a pod" in message
    assert read(message) is None


def test_what_the_operator_imports_of_validation_needs_none_of_what_only_runs_have() -> None:
    folder = Path(str(job.__file__)).parent
    modules = ["errors", "request", "sources", *(f"job.{file.stem}" for file in folder.glob("*.py"))]
    heavy = ("numba", "numpy", "pulsar", "pyarrow", "pyspark", "py4j")
    program = (
        f"import sys, importlib\nfor name in {modules!r}: importlib.import_module('topicschema.validation.' + name)\n"
        f"sys.exit(','.join(name for name in {heavy!r} if name in sys.modules) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.strip()) == (0, "")
