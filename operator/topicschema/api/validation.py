"""Settings of validation in policies and topics, and the status of a run.

A topic's field overrides the policy's. If both are unset, the default in the field's description applies. The registry
sets image, pods and credentials of the runs, and whether values are shown.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, ClassVar

from topicschema.api.schema_fields import CelRule, Field, matches, matching, not_matching, one_of
from topicschema.core.validation_rules import ValidationMode

DURATION = r"^[1-9][0-9]{0,5}[smhd]$"
"""Pattern of a duration: a number, and a unit from seconds to days."""
# Who names the files need not be who names the account: its token must not go to a host of their choice. What S3 gets
# is signed for the one request, so it may name a store that is not Amazon's.
_AZURE = (
    "^abfss?://([a-z0-9$-]+@)?[a-z0-9$-]+"
    "([.](dfs|blob)[.]core[.](windows[.]net|usgovcloudapi[.]net|chinacloudapi[.]cn))?(/|$)"
)
STORE_RULES = (
    matching(
        r"^(s3|gs|gcs|hdfs|abfs|abfss)://[^\s\x00-\x1f]+$", "write s3://, gs://, abfs:// or hdfs://, and the path"
    ),
    not_matching(
        "^[a-z0-9]+://[^/]*:[^/]*@",
        "remove the credentials, and give the account of the registry's podTemplate the right to read",
    ),
    CelRule(
        cel="self.matches('^(s3|hdfs)://') || !self.contains('?')",
        message="only s3:// takes options, because other stores are identified by their host",
        holds=lambda uri: matches("^(s3|hdfs)://", uri) or "?" not in uri,
    ),
    CelRule(
        cel=f"!self.matches('^abfss?://') || self.matches('{_AZURE}')",
        message="write abfs://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH",
        holds=lambda uri: not matches("^abfss?://", uri) or matches(_AZURE, uri),
    ),
)


class ValidationPhase(StrEnum):
    """The progress of a validation."""

    WAITING = "Waiting"
    RUNNING = "Running"
    PASSED = "Passed"
    FAILED = "Failed"
    ERROR = "Error"


class FilesFormat(StrEnum):
    """The format of files with messages."""

    PARQUET = "Parquet"
    AVRO = "Avro"
    JSON = "JSON"


@dataclass(frozen=True, slots=True, kw_only=True)
class PulsarSourceSpec:
    """The topic itself, at the broker of the policy's registry (spec.pulsar.serviceURL)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesSourceSpec:
    """Files with the topic's messages, in an object store that the run's account may read."""

    uri: Annotated[
        str,
        Field(
            "URI of a file or a folder, for instance s3://archive/shop/orders/{topic}. {topic} stands for the topic's "
            "local name.",
            max_length=2048,
            rules=STORE_RULES,
        ),
    ]
    format: Annotated[
        FilesFormat | None,
        Field("Parquet, Avro (object containers) or JSON (lines). Default: by the files' extensions."),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSpec:
    """The source of the messages: exactly one kind."""

    RULES: ClassVar = (one_of("pulsar", "files"),)

    pulsar: Annotated[
        PulsarSourceSpec | None,
        Field("The topic itself, at the broker of the policy's registry (spec.pulsar.serviceURL)."),
    ] = None
    files: Annotated[FilesSourceSpec | None, Field("Files with the topic's messages.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleSpec:
    """The sample of messages; an unset field does not limit."""

    max_messages: Annotated[
        int | None, Field("Approximate number of messages, with the same share in every partition.", minimum=1)
    ] = None
    percent: Annotated[
        int | None,
        Field("Percentage of the messages, chosen at random. Default: 100.", minimum=1, maximum=100),
    ] = None
    since: Annotated[
        str | None,
        Field(
            "Only messages published within this time before the run, for instance 168h.",
            max_length=10,
            pattern=DURATION,
        ),
    ] = None
    seed: Annotated[
        int | None, Field("Seed of the random choice: the same seed chooses the same messages. Default: 0.")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToleranceSpec:
    """The tolerance for invalid messages."""

    max_invalid_per_million: Annotated[
        int | None, Field("Number of invalid messages in a million that pass. Default: 0.", maximum=1_000_000)
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicValidationSpec:
    """A topic's settings of validation; an unset field has the policy's value."""

    mode: Annotated[
        ValidationMode | None,
        Field(
            "Off (default): no validation. Report: register versions, and report messages that they "
            "cannot read. Gate: register a version only after its messages pass."
        ),
    ] = None
    sample: Annotated[SampleSpec | None, Field("Sample of the messages. Default: all.")] = None
    tolerance: Annotated[ToleranceSpec | None, Field("Tolerance for invalid messages. Default: none.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationSpec(TopicValidationSpec):
    """A policy's settings of validation, for all topics without their own."""

    source: Annotated[SourceSpec | None, Field("Source of the messages. Default: the topic itself.")] = None
    active_deadline_seconds: Annotated[
        int | None, Field("Maximum duration of a run. Default: one hour.", minimum=1, maximum=604_800)
    ] = None
    ttl_seconds_after_finished: Annotated[
        int | None,
        Field(
            "Lifetime of a finished Job. Default: one day. Minimum: one hour, because its end "
            "determines the retry of a run without a verdict.",
            minimum=3600,
            maximum=2_592_000,
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonStatus:
    """The number of messages with one reason at one path."""

    reason: Annotated[str, Field("Id of the reason.", max_length=64)]
    path: Annotated[str, Field("JSON path from $ in the schema.", max_length=1024)] = "$"
    messages: Annotated[int, Field("Number of messages.")] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ExampleStatus:
    """One unreadable message; its value is shown only with includeValues."""

    message: Annotated[
        str, Field("Id of the message, as ledger:entry:batchIndex, or the row of a file.", max_length=256)
    ]
    partition: Annotated[str | None, Field("Partition or file.", max_length=1024)] = None
    published_at: Annotated[str | None, Field("Publish time, in UTC.", format="date-time", max_length=32)] = None
    schema_version: Annotated[int | None, Field("Schema version that wrote it.")] = None
    reason: Annotated[str, Field("Id of the reason.", max_length=64)]
    path: Annotated[str, Field("JSON path from $ in the schema.", max_length=1024)] = "$"
    offset: Annotated[int | None, Field("Byte offset in the payload, from 0.")] = None
    value: Annotated[str | None, Field("Value of the message, shortened.", max_length=1024)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """State of the operator about one validation.

    `request_hash` is of its schema, earlier versions, source and sample: the same input is validated once. `renews` is
    the time of the expired verdict that it replaces. `percent` is its progress.
    """

    request_hash: str = ""
    renews: str | None = None
    percent: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationStatus:
    """The newest validation: its input, progress and result."""

    phase: Annotated[
        ValidationPhase, Field("Waiting (in the queue), Running, Passed, Failed, or Error (it could not run).")
    ]
    revalidate: Annotated[
        str | None,
        Field("Value of the annotation topicschema.io/revalidate that started this validation.", max_length=256),
    ] = None
    judged_at: Annotated[
        str | None,
        Field(
            "End of the run with the verdict, in UTC. A gate can register the version for 24 hours.",
            format="date-time",
            max_length=32,
        ),
    ] = None
    topic_missing: Annotated[
        bool | None,
        Field("True if the topic did not exist. The verdict is valid only until the topic is created."),
    ] = None
    messages: Annotated[int | None, Field("Number of judged messages.")] = None
    invalid: Annotated[int | None, Field("Number of unreadable messages.")] = None
    by_reason: Annotated[
        tuple[ReasonStatus, ...], Field("Reasons, the most frequent first, at most 20.", max_items=20)
    ] = ()
    examples: Annotated[
        tuple[ExampleStatus, ...], Field("Examples of unreadable messages, at most 10.", max_items=10)
    ] = ()
    plan: Annotated[str | None, Field("Who judged and why: one pod, or Spark executors.", max_length=256)] = None
    job: Annotated[str | None, Field("Name of the Job, in the validation namespace.", max_length=253)] = None
    report: Annotated[
        str | None, Field("Name of the ConfigMap with the whole report, in this namespace.", max_length=253)
    ] = None
    internal: Annotated[RunState, Field("State of the operator, in a format that changes.", is_opaque=True)] = field(
        default_factory=RunState
    )

    @property
    def is_final(self) -> bool:
        """True if there is a verdict."""
        return self.phase in (ValidationPhase.PASSED, ValidationPhase.FAILED)
