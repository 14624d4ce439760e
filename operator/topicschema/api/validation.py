"""What is said of validating retained messages: by the policy, by a topic, and what a status shows of a run.

A topic's own fields win over its policy's, one by one; what is absent in both is the default that its field's
description names. Who reads, by what account and image, and whether values may be shown is the policy's alone.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, ClassVar

from topicschema.api.schema_fields import Field, Rule
from topicschema.api.validation_pods import ReaderAuthenticationSpec, TemplateSpec

_DURATION = r"^[1-9][0-9]{0,5}[smhd]$"
# Who names the files need not be who names the account: its token must not go to a host of their choice. What S3 gets
# is signed for the one request, so it may be told of a store that is not Amazon's.
_STORES = (
    Rule(
        cel=r"self.matches('^(s3|gs|gcs|hdfs|abfs|abfss)://[^\\s\\x00-\\x1f]+$')",
        message="write s3://, gs://, abfs:// or hdfs://, and where",
    ),
    Rule(
        cel=r"!self.matches('^[a-z0-9]+://[^/]*:[^/]*@')",
        message="credentials do not belong here: give the account of validation.template the right to read",
    ),
    Rule(
        cel=r"self.matches('^(s3|hdfs)://') || !self.contains('?')",
        message="only s3:// takes options: whose store it is must be known by its name",
    ),
    Rule(
        cel=r"!self.matches('^abfss?://') || self.matches('^abfss?://([a-z0-9$-]+@)?[a-z0-9$-]+"
        r"([.](dfs|blob)[.]core[.](windows[.]net|usgovcloudapi[.]net|chinacloudapi[.]cn))?(/|$)')",
        message="write abfs://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH",
    ),
)
_QUESTION = Field(
    "What was asked, as a hash: schema, versions before it, source and sample. It is asked once.",
    max_length=71,
    pattern="^sha256:[0-9a-f]{64}$",
)


class ValidationMode(StrEnum):
    """What a verdict on retained messages decides."""

    OFF = "Off"
    REPORT = "Report"
    GATE = "Gate"


class ValidationPhase(StrEnum):
    """How far a validation is."""

    WAITING = "Waiting"
    RUNNING = "Running"
    PASSED = "Passed"
    FAILED = "Failed"
    ERROR = "Error"


class FilesFormat(StrEnum):
    """How files hold messages."""

    PARQUET = "Parquet"
    AVRO = "Avro"
    JSON = "JSON"


def _most(limit: int) -> tuple[Rule, ...]:
    return (Rule(cel=f"self <= {limit}", message=f"{limit} at most"),)


@dataclass(frozen=True, slots=True, kw_only=True)
class PulsarSourceSpec:
    """The topic itself, at the policy's broker (spec.pulsar with a serviceURL)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesSourceSpec:
    """Files that hold the topic's messages, in an object store that the run's account may read."""

    uri: Annotated[
        str,
        Field(
            "A file or a folder, for instance s3://archive/shop/orders/created.",
            max_length=2048,
            rules=_STORES,
        ),
    ]
    format: Annotated[
        FilesFormat | None, Field("Parquet, Avro (object containers) or JSON (lines); absent: by the names' ends.")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSpec:
    """Where the messages are; exactly one place."""

    RULES: ClassVar = (
        Rule(
            cel="[has(self.pulsar), has(self.files)].filter(given, given).size() == 1",
            message="give one of pulsar and files",
        ),
    )

    pulsar: Annotated[
        PulsarSourceSpec | None, Field("The topic itself, at the policy's broker (spec.pulsar with a serviceURL).")
    ] = None
    files: Annotated[FilesSourceSpec | None, Field("Files with the topic's messages.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleSpec:
    """Which of the messages are judged; what is absent limits nothing."""

    max_messages: Annotated[int | None, Field("About so many, the same share everywhere.", minimum=1)] = None
    percent: Annotated[
        int | None, Field("So many of a hundred, picked by chance; 100 when absent.", minimum=1, rules=_most(100))
    ] = None
    since: Annotated[
        str | None,
        Field("Those published within this time before the run, for instance 168h.", max_length=10, pattern=_DURATION),
    ] = None
    seed: Annotated[int | None, Field("Which messages chance picks; the same seed picks the same. 0 when absent.")] = (
        None
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ToleranceSpec:
    """How much may be wrong with messages that pass."""

    max_invalid_per_million: Annotated[
        int | None, Field("So many of a million may be unreadable; 0 when absent.", rules=_most(1_000_000))
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicValidationSpec:
    """What the topic's team says of validating its messages; each field that is absent is as the policy has it."""

    mode: Annotated[
        ValidationMode | None,
        Field(
            "Off (also when policy and topic say nothing), Report (versions are registered, and it is told which "
            "messages they cannot read), or Gate (a version is registered only after its messages pass)."
        ),
    ] = None
    source: Annotated[SourceSpec | None, Field("Where the messages are; the topic itself when absent.")] = None
    sample: Annotated[SampleSpec | None, Field("Which of the messages are judged; all when absent.")] = None
    tolerance: Annotated[ToleranceSpec | None, Field("How much may be wrong; nothing when absent.")] = None
    executors: Annotated[
        int | None,
        Field(
            "Pods that read beside the run's own; 0 when absent: one pod, without Spark and JVM, which judges in four "
            "processes at most, whatever its CPU limit.",
            rules=_most(64),
        ),
    ] = None
    active_deadline_seconds: Annotated[
        int | None, Field("How long a run may take; an hour when absent.", minimum=1, rules=_most(604_800))
    ] = None
    ttl_seconds_after_finished: Annotated[
        int | None,
        Field(
            "How long a Job stays after its end; a day when absent. An hour at least: its end tells when one without a "
            "verdict is tried again.",
            minimum=3600,
            rules=_most(2_592_000),
        ),
    ] = None
    page: Annotated[
        bool | None, Field("Whether the report is kept as a page (HTML), too, for people; false when absent.")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationSpec(TopicValidationSpec):
    """What the platform team says of validating messages, for all topics that do not say otherwise."""

    authentication: Annotated[
        ReaderAuthenticationSpec | None,
        Field("Who a run is to the broker, never who the operator is; absent: nobody."),
    ] = None
    include_values: Annotated[
        bool | None,
        Field("Whether examples in status and report show what the messages hold; false when absent."),
    ] = None
    template: Annotated[
        TemplateSpec | None,
        Field("What may be said of a run's pods. Who sets it must be allowed to create pods in this namespace."),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonStatus:
    """How many messages have one and the same thing wrong."""

    reason: Annotated[str, Field("What is wrong, by its stable id.", max_length=64)]
    path: Annotated[str, Field("The place in the schema, as a JSON path from $.", max_length=1024)] = "$"
    messages: Annotated[int, Field("How many messages.")] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ExampleStatus:
    """One message that cannot be read; what it holds is shown only with includeValues."""

    message: Annotated[str, Field("The message's id, as ledger:entry:batchIndex, or a file's row.", max_length=256)]
    partition: Annotated[str | None, Field("The partition, or the file.", max_length=1024)] = None
    published_at: Annotated[str | None, Field("When it was published, in UTC.", max_length=32)] = None
    schema_version: Annotated[int | None, Field("The version that it was written with.")] = None
    reason: Annotated[str, Field("What is wrong, by its stable id.", max_length=64)]
    path: Annotated[str, Field("The place in the schema, as a JSON path from $.", max_length=1024)] = "$"
    offset: Annotated[int | None, Field("The payload's byte at which it shows, from 0.")] = None
    value: Annotated[str | None, Field("What the message holds, shortened.", max_length=1024)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationStatus:
    """The newest validation: what was asked, how far it is, and what came of it."""

    phase: Annotated[
        ValidationPhase, Field("Waiting (for its turn), Running, Passed, Failed, or Error (it could not run).")
    ]
    question: Annotated[str, _QUESTION]
    revalidate: Annotated[
        str | None,
        Field("The value of the annotation topicschema.io/revalidate that this validation answers.", max_length=256),
    ] = None
    renews: Annotated[
        str | None,
        Field("When the verdict was given that is too old to register by, and that this one renews.", max_length=32),
    ] = None
    judged_at: Annotated[
        str | None,
        Field("When the run ended that has the verdict, in UTC. A gate registers by it for 24 hours.", max_length=32),
    ] = None
    topic_missing: Annotated[
        bool | None,
        Field("Whether the topic did not exist: its verdict, on no messages, counts only as long as it does not."),
    ] = None
    percent_in_tens: Annotated[int, Field("How far it is, in steps of ten per cent.")] = 0
    messages: Annotated[int | None, Field("How many messages were judged.")] = None
    invalid: Annotated[int | None, Field("How many of them cannot be read.")] = None
    by_reason: Annotated[
        tuple[ReasonStatus, ...], Field("What is wrong with them, most first, at most 20.", max_items=20)
    ] = ()
    examples: Annotated[tuple[ExampleStatus, ...], Field("Some of them, at most 10.", max_items=10)] = ()
    job: Annotated[str | None, Field("The Job that asks, in this namespace.", max_length=253)] = None
    report: Annotated[str | None, Field("The ConfigMap with the whole report, in this namespace.", max_length=253)] = (
        None
    )

    @property
    def is_final(self) -> bool:
        """Whether there is a verdict."""
        return self.phase in (ValidationPhase.PASSED, ValidationPhase.FAILED)
