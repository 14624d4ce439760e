"""Reading an audit log."""

import json
from pathlib import Path
from typing import Any

import pytest

from testbed import audit


def _event(verb: str, user: str = "me", stage: str = "ResponseComplete", **reference: str) -> dict[str, Any]:
    return {
        "stage": stage,
        "verb": verb,
        "user": {"username": user},
        "objectRef": {"apiVersion": "v1alpha1", **reference},
        "responseStatus": {"code": 200},
        "stageTimestamp": "2026-11-21T05:30:00.000000Z",
    }


@pytest.fixture
def log(tmp_path: Path) -> Path:
    events = [
        _event("get", resource="topicschemas", name="a"),
        _event("patch", resource="topicschemas", subresource="status", name="a", apiGroup="topicschema.io"),
        _event("create", user="other", resource="configmaps", name="b"),
        _event("watch", stage="ResponseStarted", resource="topicschemas"),
        _event("watch", resource="topicschemas"),
    ]
    path = tmp_path / "audit.log"
    path.write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")
    return path


def test_requests_come_in_order_and_a_watch_counts_once(log: Path) -> None:
    assert [request.verb for request in audit.requests(log)] == ["get", "patch", "create", "watch"]


def test_one_users_writes_are_told_from_reads_and_from_others(log: Path) -> None:
    (write,) = audit.writes(log, user="me")
    assert (write.verb, write.api_group, write.resource, write.subresource) == (
        "patch",
        "topicschema.io",
        "topicschemas",
        "status",
    )


def test_only_what_came_after_a_position_is_read_and_half_a_line_is_not(log: Path) -> None:
    before = audit.position(log)
    with log.open("a", encoding="utf-8") as file:
        file.write(json.dumps(_event("delete")) + '\n{"stage": "Resp')

    assert [request.verb for request in audit.requests(log, before)] == ["delete"]


def test_a_log_that_is_not_there_yet_is_empty(tmp_path: Path) -> None:
    assert audit.requests(tmp_path / "none") == []
    assert audit.position(tmp_path / "none") == 0
