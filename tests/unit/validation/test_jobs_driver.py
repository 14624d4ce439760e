"""From the ConfigMaps that a Job mounts to what the operator makes of the pod's end: the driver itself is run."""

import base64
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.kubernetes.jobs import OWNER, REQUEST, UID, VALIDATION_REQUEST
from topicschema.api.metadata import Metadata
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.reconcile.validation.report_configmap import manifest as report_manifest
from topicschema.validation.job import log_protocol
from topicschema.validation.job.manifest import JobRequest, manifest, request_parts
from topicschema.validation.job.outcome import CouldNotRun, Failed, JobOutcome, Passed, outcome
from topicschema.validation.request import FileSource

ENDS = {0: ("Complete", ""), 42: ("Failed", "PodFailurePolicy")}


def request_for(source: Path) -> JobRequest:
    number = SchemaInfo(SchemaType.INT32)
    validation_request = replace(
        VALIDATION_REQUEST, candidate=number, versions={0: number}, pulsar=None, files=FileSource((str(source),))
    )
    return replace(REQUEST, validation_request=validation_request)


def messages(folder: Path, *payloads: bytes) -> Path:
    """Write a file with these messages and return its path."""
    path = folder / "messages.jsonl"
    lines = [json.dumps({"value_base64": base64.b64encode(each).decode(), "schema_version": 0}) for each in payloads]
    path.write_text("\n".join(lines) + "\n")
    return path


def run(request: JobRequest, folder: Path) -> tuple[JobOutcome, str]:
    """Run the driver on the request. Return the outcome of its pod for the operator, and the pod's log."""
    mounted, log = folder / "question", folder / "termination"
    mounted.mkdir()
    for part in request_parts(request, UID):
        for name, content in part["binaryData"].items():
            (mounted / name).write_bytes(base64.b64decode(content))
    driver = [sys.executable, "-m", "topicschema.validation.run.driver", str(mounted), "--termination-log", str(log)]
    ran = subprocess.run(driver, capture_output=True, text=True, check=False, timeout=120)
    end, reason = ENDS.get(ran.returncode, ("Failed", "BackoffLimitExceeded"))
    job = manifest(request)
    job["metadata"]["uid"] = UID
    job["status"] = {"conditions": [{"type": end, "status": "True", "reason": reason}]}
    terminated = {"exitCode": ran.returncode, "message": log.read_text(), "reason": "Error"}
    pod = {
        "metadata": {"name": "p", "ownerReferences": [{"uid": UID, "controller": True}]},
        "status": {"containerStatuses": [{"name": "driver", "state": {"terminated": terminated}}]},
    }
    return outcome(job, [pod]), ran.stdout


@pytest.mark.parametrize(("bad", "expected"), [(0, Passed), (2, Failed)])
def test_a_drivers_end_is_the_verdict_that_the_operator_believes(
    tmp_path: Path, bad: int, expected: type[Passed | Failed]
) -> None:
    request = request_for(messages(tmp_path, *[b"\0\0\0\1"] * 5, *[b"\0"] * bad))
    result, log = run(request, tmp_path)
    assert isinstance(result, expected), result
    assert (result.document.messages, result.document.invalid) == (5 + bad, bad)
    assert [(each.reason, each.messages) for each in result.document.by_reason] == [("TRUNCATED", bad)] * bool(bad)
    assert log_protocol.progress_in(log.splitlines()) == {"percent": 100, "messages": 5 + bad, "of": 5 + bad}
    report = log_protocol.report_in(log.splitlines())
    assert report is not None
    config_map = report_manifest(Metadata(name=OWNER.name, namespace="shop", uid=OWNER.uid), "job", report)
    assert json.loads(config_map["data"]["report.json"])["invalid"] == bad


def test_an_unreadable_source_is_no_verdict_and_its_reason_is_reported(tmp_path: Path) -> None:
    result, _ = run(request_for(tmp_path / "nowhere.jsonl"), tmp_path)
    assert isinstance(result, CouldNotRun)
    assert "nowhere.jsonl" in result.why


@pytest.mark.parametrize("report", [b"", b"[]", b"{}", b'{"verdict": 5}', b"\xff", b"x" * 3_000_000])
def test_the_configmap_of_an_invalid_report_has_bounds(report: bytes) -> None:
    config_map: dict[str, Any] = report_manifest(Metadata(name="a" * 253, uid="u"), "job", report)
    assert config_map["data"]["job"] == "job"
    assert len(json.dumps(config_map)) < 1 << 20
    assert len(config_map["metadata"]["name"]) <= 253
