"""The verdict document, and that only a whole and sound one is believed."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topicschema.api.validation import ExampleStatus, ReasonStatus
from topicschema.validation.job.result import MAX_BYTES, MessagesVerdict, VerdictDocument, read

QUESTION = "sha256:" + "0" * 64
FAILED = VerdictDocument(
    request_hash=QUESTION,
    verdict=MessagesVerdict.FAIL,
    messages=2_000_000,
    invalid=12_994,
    by_reason=(ReasonStatus(reason="TRUNCATED", path="$.total", messages=12_994),),
    examples=(ExampleStatus(message="5:7:-1", reason="TRUNCATED", path="$.total", offset=3),),
    read_to={"persistent://shop/orders/created": "5:7:-1"},
)


def test_a_document_is_read_as_it_was_written() -> None:
    assert read(FAILED.text) == FAILED
    assert (FAILED.exit_status, VerdictDocument(**_passed()).exit_status) == (42, 0)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 200), st.integers(0, 40), st.text(max_size=300))
def test_every_verdict_fits_into_a_termination_message(reasons: int, examples: int, path: str) -> None:
    document = VerdictDocument(
        **_passed(),
        by_reason=tuple(ReasonStatus(reason="TRUNCATED", path=path, messages=n) for n in range(reasons)),
        examples=tuple(ExampleStatus(message=f"1:{n}", reason="TRUNCATED", path=path) for n in range(examples)),
        read_to={f"partition-{n}": path for n in range(examples)},
    )
    assert len(document.text) <= MAX_BYTES
    document = read(document.text)
    assert document is not None
    assert (document.request_hash, document.verdict, document.messages) == (QUESTION, MessagesVerdict.PASS, 10)
    assert bool(document.by_reason) == bool(reasons)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Error: the source is silent",
        "[]",
        "[" * 5000,
        json.dumps({"format": 1}),
        FAILED.text[:-1].decode(),
        json.dumps({**json.loads(FAILED.text), "format": 3}),
        json.dumps({**json.loads(FAILED.text), "verdict": "Perhaps"}),
        json.dumps({**json.loads(FAILED.text), "invalid": 2_000_001}),
        json.dumps({**json.loads(FAILED.text), "messages": 1.5}),
    ],
)
def test_an_incomplete_document_is_ignored(text: str) -> None:
    assert read(text) is None


def _passed() -> dict[str, Any]:
    return {"request_hash": QUESTION, "verdict": MessagesVerdict.PASS, "messages": 10, "invalid": 0}
