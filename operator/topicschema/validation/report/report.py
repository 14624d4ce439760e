"""Report of a run for programs: one JSON object of bounded size, from the request, the plan and the tally.

docs/validation.md describes its members. `job.html_report` makes a page of it, and `verdict` the verdict document.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from topicschema.api.validation import ExampleStatus, ReasonStatus
from topicschema.core import formats
from topicschema.core.formats.key_value import KeyValueSchema
from topicschema.core.schemas import SchemaType
from topicschema.validation.job.result import Answer, VerdictDocument
from topicschema.validation.report.tables import Figures, shown_examples
from topicschema.validation.report.tally import Tally
from topicschema.validation.request import ValidationRequest
from topicschema.validation.sources import Plan

FORMAT: Final = 1
_MOST_PLACES_READ: Final = 200
_WITHHELD: Final = "marks, aborted transactions, or what the broker passes over"


@dataclass(frozen=True, slots=True)
class Report:
    """Report. `document` is its JSON."""

    document: Mapping[str, Any]

    @property
    def passes(self) -> bool:
        """True if the messages pass."""
        return bool(self.document["verdict"] == Answer.PASS)

    @property
    def text(self) -> bytes:
        """The JSON as one line."""
        return (
            json.dumps(self.document, separators=(",", ":"), ensure_ascii=False).encode(errors="surrogatepass") + b"\n"
        )

    @property
    def verdict(self) -> VerdictDocument:
        """The verdict document, which the pod writes as its termination message."""
        told = self.document
        return VerdictDocument(
            question=told["question"],
            verdict=told["verdict"],
            messages=told["messages"],
            invalid=told["invalid"],
            by_reason=tuple(ReasonStatus(**_only(each, "reason", "path", "messages")) for each in told["byPlace"]),
            examples=tuple(_example(each) for each in told["examples"]),
            read_to=told["readTo"],
            notes=tuple(told["notes"]),
            topic_missing=told.get("topicMissing"),
        )


@dataclass(frozen=True, slots=True)
class Course:
    """Start of a run (milliseconds since 1970) and its duration (seconds)."""

    started: int
    seconds: float


def report(asked: ValidationRequest, plan: Plan, tally: Tally, course: Course) -> Report:
    """Return the report of a completed run."""
    figures = Figures(tally, plan)
    passes = asked.tolerance.takes(tally.invalid, tally.messages)
    return Report(
        {
            "format": FORMAT,
            "question": asked.sha256,
            "topic": asked.topic,
            "type": asked.candidate.type.value,
            "verdict": Answer.PASS if passes else Answer.FAIL,
            "startedAt": datetime.fromtimestamp(course.started / 1000, UTC).isoformat(timespec="seconds"),
            "seconds": round(course.seconds, 1),
            "messages": tally.messages,
            "invalid": tally.invalid,
            "maxInvalidPerMillion": asked.tolerance.max_invalid_per_million,
            "leftOut": tally.skipped,
            "gone": tally.gone,
            "withheld": tally.withheld,
            "sample": _sample(asked),
            "byReason": figures.reasons(),
            "byPlace": figures.places(),
            "byWriter": figures.writers(),
            "byPartition": figures.partitions(),
            "byHour": figures.hours(),
            "losses": figures.losses(),
            "unknownVersions": [
                {"version": each, "messages": tally.unknown_versions[each]} for each in sorted(tally.unknown_versions)
            ],
            "examples": shown_examples(tally, plan),
            "readTo": dict(sorted(plan.read_to.items())[:_MOST_PLACES_READ]),
            "labels": dict(asked.labels),
            "notes": _notes(asked, plan, tally),
            **({"topicMissing": True} if plan.is_missing else {}),
        }
    )


def _sample(asked: ValidationRequest) -> Mapping[str, Any]:
    sample = asked.sample
    limits = {"maxMessages": sample.max_messages, "sinceSeconds": sample.since_seconds}
    return {"percent": sample.percent, "seed": sample.seed} | {
        name: limit for name, limit in limits.items() if limit is not None
    }


def _notes(asked: ValidationRequest, plan: Plan, tally: Tally) -> list[str]:
    notes = list(plan.notes)
    if not tally.messages:
        notes.append(
            "there are no messages to judge" if not tally.skipped else "all messages are older than the sample"
        )
    if tally.messages and (wanted := _wanted(asked, tally)) > 2 * tally.messages:
        notes.append(f"the sample was to take about {wanted:,} messages, but how many there are was only guessed")
    if tally.gone:
        notes.append(f"{tally.gone:,} messages were removed before they could be read")
    if tally.withheld:
        notes.append(f"{tally.withheld:,} entries held no message for a reader: {_WITHHELD}")
    if -1 in tally.writers and asked.versions:
        notes.append("messages that name no schema version were read by the proposed schema, as consumers read them")
    if tally.messages and SchemaType.PROTOBUF in _types(asked):
        notes.append("of PROTOBUF the outermost message alone was looked at: its schema does not tell those inside")
    return notes


def _types(asked: ValidationRequest) -> set[SchemaType]:
    """Return the candidate's type, or the types of its key and value."""
    if asked.candidate.type is not SchemaType.KEY_VALUE:
        return {asked.candidate.type}
    pair = formats.parse(asked.candidate, asked.line, validate_defaults=False)
    return {each.info.type for each in (pair.key, pair.value)} if isinstance(pair, KeyValueSchema) else set()


def _wanted(asked: ValidationRequest, tally: Tally) -> int:
    """Return about how many messages the sample should have, by the number of messages that were read."""
    share, most = tally.drawable * asked.sample.percent // 100, asked.sample.max_messages
    return share if most is None else min(share, most)


def _only(told: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    return {name: told[name] for name in names}


def _example(told: Mapping[str, Any]) -> ExampleStatus:
    return ExampleStatus(
        message=told["message"],
        partition=told["partition"],
        published_at=told["publishedAt"],
        schema_version=told["schemaVersion"],
        reason=told["reason"],
        path=told["path"],
        offset=told["offset"],
        value=told.get("value"),
    )
