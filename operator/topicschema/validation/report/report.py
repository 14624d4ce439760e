"""Report of a run for programs: one JSON object of bounded size, from the request, the plan and the tally.

docs/validation.md describes its members. `html_report` makes a page of it, and `verdict` the verdict document.
"""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from topicschema.api.validation import ExampleStatus, ReasonStatus
from topicschema.core import formats
from topicschema.core.formats.key_value import KeyValueSchema
from topicschema.core.schemas import SchemaType
from topicschema.validation.job.result import MessagesVerdict, VerdictDocument
from topicschema.validation.report.tables import Figures, shown_examples
from topicschema.validation.report.tally import Tally
from topicschema.validation.request import ValidationRequest
from topicschema.validation.sources import Plan

FORMAT: Final = 1
_MOST_PLACES_READ: Final = 200
_MOST_FORMATS: Final = 3
_WITHHELD: Final = "markers, aborted transactions, or messages that the broker skips"


@dataclass(frozen=True, slots=True)
class Report:
    """Report. `document` is its JSON."""

    document: Mapping[str, Any]

    @property
    def passes(self) -> bool:
        """True if the messages pass."""
        return bool(self.document["verdict"] == MessagesVerdict.PASS)

    @property
    def text(self) -> bytes:
        """The JSON as one line."""
        return (
            json.dumps(self.document, separators=(",", ":"), ensure_ascii=False).encode(errors="surrogatepass") + b"\n"
        )

    @property
    def verdict(self) -> VerdictDocument:
        """The verdict document, which the pod writes as its termination message."""
        document = self.document
        return VerdictDocument(
            request_hash=document["requestHash"],
            verdict=document["verdict"],
            messages=document["messages"],
            invalid=document["invalid"],
            by_reason=tuple(ReasonStatus(**_only(each, "reason", "path", "messages")) for each in document["byPlace"]),
            examples=tuple(_example(each) for each in document["examples"]),
            read_to=document["readTo"],
            notes=tuple(document["notes"]),
            topic_missing=document.get("topicMissing"),
            plan=document["plan"],
        )


@dataclass(frozen=True, slots=True)
class Course:
    """Start of a run (milliseconds since 1970), its duration (seconds), and who judged and why.

    `spark` is what executors did, or {} without them.
    """

    started: int
    seconds: float
    plan: str
    spark: Mapping[str, int | float]


def report(request: ValidationRequest, plan: Plan, tally: Tally, course: Course) -> Report:
    """Return the report of a completed run."""
    figures = Figures(tally, plan)
    passes = request.tolerance.takes(tally.invalid, tally.messages)
    return Report(
        {
            "format": FORMAT,
            "requestHash": request.sha256,
            "topic": request.topic,
            "type": request.candidate.type.value,
            "pulsarVersion": request.pulsar_version.value,
            "verdict": MessagesVerdict.PASS if passes else MessagesVerdict.FAIL,
            "startedAt": datetime.fromtimestamp(course.started / 1000, UTC).isoformat(timespec="seconds"),
            "seconds": round(course.seconds, 1),
            "plan": course.plan,
            **({"spark": dict(course.spark)} if course.spark else {}),
            "messages": tally.messages,
            "invalid": tally.invalid,
            "maxInvalidPerMillion": request.tolerance.max_invalid_per_million,
            "leftOut": tally.skipped,
            "gone": tally.gone,
            "withheld": tally.withheld,
            "sample": _sample(request),
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
            "labels": dict(request.labels),
            "notes": _notes(request, plan, tally),
            **({"topicMissing": True} if plan.is_missing else {}),
        }
    )


def _sample(request: ValidationRequest) -> Mapping[str, Any]:
    sample = request.sample
    limits = {"maxMessages": sample.max_messages, "sinceSeconds": sample.since_seconds}
    return {"percent": sample.percent, "seed": sample.seed} | {
        name: limit for name, limit in limits.items() if limit is not None
    }


def _notes(request: ValidationRequest, plan: Plan, tally: Tally) -> list[str]:
    notes = list(plan.notes)
    if not tally.messages:
        notes.append(
            "there are no messages to judge" if not tally.skipped else "all messages are older than the sample"
        )
    if tally.messages and (size := _sample_size(request, tally)) > 2 * tally.messages:
        notes.append(f"the sample was to take about {size:,} messages, but how many there are was only guessed")
    if tally.gone:
        notes.append(f"{tally.gone:,} messages were removed before they could be read")
    if tally.withheld:
        notes.append(f"{tally.withheld:,} entries held no message for a reader: {_WITHHELD}")
    if -1 in tally.writers and request.versions:
        notes.append("messages that name no schema version were read by the proposed schema, as consumers read them")
    notes += [
        f"of the examples of invalid messages, {count:,} begin{'s' if count == 1 else ''} like {name}"
        for name, count in Counter(_formats(tally)).most_common(_MOST_FORMATS)
    ]
    if tally.messages and SchemaType.PROTOBUF in _types(request):
        notes.append("of PROTOBUF only the outermost message was checked: its schema does not describe the inner ones")
    return notes


def _formats(tally: Tally) -> list[str]:
    """Return the other format that each example begins like, if it does."""
    return sorted(each.format for ranked in tally.examples.values() for each in ranked if each.format is not None)


def _types(request: ValidationRequest) -> set[SchemaType]:
    """Return the candidate's type, or the types of its key and value."""
    if request.candidate.type is not SchemaType.KEY_VALUE:
        return {request.candidate.type}
    pair = formats.parse(request.candidate, request.pulsar_version, validate_defaults=False)
    return {each.info.type for each in (pair.key, pair.value)} if isinstance(pair, KeyValueSchema) else set()


def _sample_size(request: ValidationRequest, tally: Tally) -> int:
    """Return about how many messages the sample should have, by the number of messages that were read."""
    share, most = tally.drawable * request.sample.percent // 100, request.sample.max_messages
    return share if most is None else min(share, most)


def _only(row: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    return {name: row[name] for name in names}


def _example(row: Mapping[str, Any]) -> ExampleStatus:
    return ExampleStatus(
        message=row["message"],
        partition=row["partition"],
        published_at=row["publishedAt"],
        schema_version=row["schemaVersion"],
        reason=row["reason"],
        path=row["path"],
        offset=row["offset"],
        value=row.get("value"),
    )
