"""AdmissionReview on the wire, within the limits of the API server and kubectl for texts."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicschema.admission.review import Cause, Review, allow, deny, one_line, read, to_wire


def review(**request: Any) -> Review:
    body = {"request": {"uid": "7", "kind": {"kind": "TopicSchema", "group": "topicschema.io"}, **request}}
    return read(body, 1_000)


def refusal(*causes: Cause) -> dict[str, Any]:
    status: dict[str, Any] = to_wire(review(name="a"), deny("Incompatible", causes))["response"]["status"]
    return status


@given(st.text(), st.integers(10, 300))
def test_a_line_has_no_control_characters_and_stays_within_its_bytes(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert len(line.encode()) <= limit
    assert line.isprintable()
    if text.isprintable() and len(text.encode()) <= limit:
        assert line == text


def test_a_truncated_line_ends_with_an_ellipsis() -> None:
    assert one_line("é" * 100, 20) == "é" * 8 + "…"


def test_warnings_are_single_lines_within_the_limits_of_the_api_server() -> None:
    warnings = to_wire(review(), allow(*("x\ny\tz " + "w" * 1_000 for _ in range(40))))["response"]["warnings"]
    assert all(len(warning.encode()) <= 240 and warning.isprintable() for warning in warnings)
    assert sum(len(warning.encode()) for warning in warnings) <= 4_096


def test_the_response_has_the_request_s_uid() -> None:
    assert to_wire(review(), allow())["response"] == {"uid": "7", "allowed": True}


def test_a_single_reason_is_not_numbered_and_several_are() -> None:
    one, two = Cause("spec.a", "first"), Cause("spec.b", "second")
    assert refusal(one)["message"] == "TopicSchema 'a' is refused: spec.a: first"
    assert refusal(one, two)["message"] == "TopicSchema 'a' is refused: (1 of 2) spec.a: first (2 of 2) spec.b: second"


def test_the_name_is_that_of_the_object_if_the_request_has_none() -> None:
    assert review(object={"metadata": {"name": "generated-x"}}).name == "generated-x"
    assert review(oldObject={"metadata": {"name": "old"}}).name == "old"


@pytest.mark.parametrize("spec", [{"a": 1}, None])
def test_only_a_spec_that_differs_is_a_change(spec: Any) -> None:
    old = {"metadata": {"labels": {}}, "spec": {"a": 1}}
    assert review(object={"metadata": {"labels": {"x": "y"}}, "spec": spec}, oldObject=old).changes_spec == (
        spec is None
    )
