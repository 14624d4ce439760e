"""The notes of a report beside its figures."""

import json

import pytest

from support.validation import order_files
from topicschema.core.formats.key_value import Encoding, KeyValue, Part, encode
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.validation.job.result import read
from topicschema.validation.report.html_report import page
from topicschema.validation.report.report import Course, report
from topicschema.validation.report.tally import MessageExample, Tally
from topicschema.validation.request import FileSource, ValidationRequest
from topicschema.validation.sources import Plan

_FIELDS = json.dumps([{"number": 1, "name": "a", "type": "MESSAGE", "label": "LABEL_OPTIONAL"}])
_OUTER = SchemaInfo(
    SchemaType.PROTOBUF, b'{"type":"record","name":"R","fields":[]}', properties={"__PARSING_INFO__": _FIELDS}
)
_PAIR = encode(KeyValue(Part(SchemaInfo(SchemaType.STRING)), Part(_OUTER), Encoding.INLINE))
_NOTE = "of PROTOBUF only the outermost message was checked: its schema does not describe the inner ones"


@pytest.mark.parametrize(
    ("candidate", "messages", "notes"),
    [
        (_OUTER, 1, [_NOTE]),
        (_PAIR, 1, [_NOTE]),
        (_OUTER, 0, ["there are no messages to judge"]),
        (order_files.CANDIDATE, 1, []),
        (SchemaInfo(SchemaType.BYTES), 1, []),
    ],
)
def test_a_report_notes_that_messages_inside_protobuf_messages_were_not_validated(
    candidate: SchemaInfo, messages: int, notes: list[str]
) -> None:
    request, tally = ValidationRequest(candidate, {}, "orders", files=FileSource(("orders",))), Tally()
    tally.messages = messages
    assert report(request, Plan(()), tally, Course(0, 1.0, "judged", {})).document["notes"] == notes


@pytest.mark.parametrize("is_missing", [True, False])
def test_missing_topic_and_withheld_entries_are_in_report_and_verdict(*, is_missing: bool) -> None:
    request, tally = ValidationRequest(order_files.CANDIDATE, {}, "orders", files=FileSource(("orders",))), Tally()
    tally.messages, tally.withheld = 1, 0 if is_missing else 12_000
    made = report(request, Plan(is_missing=is_missing), tally, Course(0, 1.0, "judged", {}))
    verdict = read(made.verdict.text)
    assert verdict is not None
    assert ("topicMissing" in made.document, bool(verdict.topic_missing)) == (is_missing, is_missing)
    skipped = "markers, aborted transactions, or messages that the broker skips"
    notes = [] if is_missing else [f"12,000 entries held no message for a reader: {skipped}"]
    assert (made.document["withheld"], made.document["notes"]) == (tally.withheld, notes)
    assert ("entries without a message" in page(made.document)) == bool(notes)


def test_it_names_the_other_formats_that_examples_begin_like() -> None:
    request, tally = ValidationRequest(order_files.CANDIDATE, {}, "orders", files=FileSource(("orders",))), Tally()
    formats = ("JSON text", None, "base64 text", "JSON text")
    tally.messages = tally.invalid = len(formats)
    tally.add_examples(
        MessageExample(rank, (0, 0, rank, 0), -1, -1, "TRUNCATED", "$", 0, format=each)
        for rank, each in enumerate(formats)
    )
    assert report(request, Plan(()), tally, Course(0, 1.0, "judged", {})).document["notes"] == [
        "of the examples of invalid messages, 2 begin like JSON text",
        "of the examples of invalid messages, 1 begins like base64 text",
    ]
