"""From the ConfigMaps that a Job mounts to what the operator makes of the pod's end: the driver itself is run."""

import base64
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.kubernetes.jobs import OWNER, QUESTION, REQUEST, UID
from topicschema.api.metadata import Metadata
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.reconcile.validation.report_configmap import manifest as report_manifest
from topicschema.validation.job import log_protocol
from topicschema.validation.job.manifest import JobRequest, manifest, request_parts
from topicschema.validation.job.outcome import CouldNotRun, Failed, Outcome, Passed, outcome
from topicschema.validation.request import FileSource

ENDS = {0: ("Complete", ""), 42: ("Failed", "PodFailurePolicy")}


def asking(source: Path) -> JobRequest:
    number = SchemaInfo(SchemaType.INT32)
    question = replace(QUESTION, candidate=number, versions={0: number}, pulsar=None, files=FileSource((str(source),)))
    return replace(REQUEST, validation_request=question)


def messages(folder: Path, *payloads: bytes) -> Path:
    """A file with these messages."""
    path = folder / "messages.jsonl"
    lines = [json.dumps({"value_base64": base64.b64encode(each).decode(), "schema_version": 0}) for each in payloads]
    path.write_text("\n".join(lines) + "\n")
    return path


def run(request: JobRequest, folder: Path) -> tuple[Outcome, str]:
    """What the operator makes of a pod that ran the driver on this question, and the pod's log."""
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
    request = asking(messages(tmp_path, *[b"\0\0\0\1"] * 5, *[b"\0"] * bad))
    found, log = run(request, tmp_path)
    assert isinstance(found, expected), found
    assert (found.document.messages, found.document.invalid) == (5 + bad, bad)
    assert log_protocol.progress_in(log.splitlines()) is not None
    report = log_protocol.report_in(log.splitlines())
    assert report is not None
    kept = report_manifest(Metadata(name=OWNER.name, namespace="shop", uid=OWNER.uid), "job", report)
    assert json.loads(kept["data"]["report.json"])["invalid"] == bad


def test_a_source_that_cannot_be_read_is_no_verdict_and_the_operator_tells_why(tmp_path: Path) -> None:
    found, _ = run(asking(tmp_path / "nowhere.jsonl"), tmp_path)
    assert isinstance(found, CouldNotRun)
    assert "nowhere.jsonl" in found.why


@pytest.mark.parametrize("report", [b"", b"[]", b"{}", b'{"verdict": 5}', b"\xff", b"x" * 3_000_000])
def test_whatever_a_pod_calls_its_report_is_kept_within_bounds(report: bytes) -> None:
    kept: dict[str, Any] = report_manifest(Metadata(name="a" * 253, uid="u"), "job", report)
    assert kept["data"]["job"] == "job"
    assert len(json.dumps(kept)) < 1 << 20
    assert len(kept["metadata"]["name"]) <= 253
