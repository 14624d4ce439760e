"""Audit of a policy's Pulsar namespace: its settings, and the status of the last one."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from topicschema.api.schema_fields import Field, matching
from topicschema.api.validation import DURATION

_CRON = "[-0-9A-Za-z*/,?]+"


class AuditProposal(StrEnum):
    """The strategy that compares current schemas with the versions of retained messages. Current compares nothing."""

    CURRENT = "Current"
    STRICT = "Strict"
    ALWAYS_INCOMPATIBLE = "ALWAYS_INCOMPATIBLE"
    ALWAYS_COMPATIBLE = "ALWAYS_COMPATIBLE"
    BACKWARD = "BACKWARD"
    FORWARD = "FORWARD"
    FULL = "FULL"
    BACKWARD_TRANSITIVE = "BACKWARD_TRANSITIVE"
    FORWARD_TRANSITIVE = "FORWARD_TRANSITIVE"
    FULL_TRANSITIVE = "FULL_TRANSITIVE"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditSpec:
    """Audits of all topics of the Pulsar namespace by a schedule. Each one reads what is new."""

    schedule: Annotated[
        str,
        Field(
            "When an audit starts, as five fields of cron, for instance 0 3 * * *, or a macro like @daily.",
            max_length=256,
            rules=(
                matching(
                    rf"^(@(yearly|annually|monthly|weekly|daily|midnight|hourly)|{_CRON}( {_CRON}){{4}})$",
                    "write five fields of cron, for instance 0 3 * * *, or a macro like @daily",
                ),
            ),
        ),
    ]
    time_zone: Annotated[
        str | None,
        Field(
            "Time zone of the schedule by its name in the IANA database, for instance Europe/Berlin. Default: that of "
            "the cluster's controller manager, usually UTC.",
            max_length=64,
            pattern=r"^[A-Za-z][-+_/A-Za-z0-9]*$",
        ),
    ] = None
    since: Annotated[
        str | None,
        Field(
            "Only messages published within this time before the audit, rounded to the hour, for instance 24h. "
            "Default: all retained messages.",
            max_length=10,
            pattern=DURATION,
        ),
    ] = None
    proposed: Annotated[
        AuditProposal,
        Field(
            "Current (default): only judge the messages by the current schema of their topic. Strict, or a strategy: "
            "also compare it with all versions that have messages."
        ),
    ] = AuditProposal.CURRENT
    suspend: Annotated[bool, Field("If true, no audit starts. Default: false.")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFinding:
    """A fault of the messages of one version of a topic, or a rule that the current schema breaks with the version."""

    topic: Annotated[str, Field("Full name of the topic.", max_length=1024)]
    schema_version: Annotated[
        int | None, Field("Version that wrote the messages. Unset if they have none, or if it cannot be read.")
    ] = None
    rule: Annotated[
        str, Field("Id of the reason why the messages cannot be read, or of the rule that breaks.", max_length=64)
    ]
    path: Annotated[str, Field("JSON path from $ in the current schema.", max_length=1024)] = "$"
    messages: Annotated[int, Field("Number of messages.")] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFigures:
    """Figures of a complete audit."""

    topics: Annotated[int, Field("Number of topics.")]
    messages: Annotated[int, Field("Number of judged messages.")]
    invalid: Annotated[int, Field("Number of these with a fault.")]
    unread_topics: Annotated[
        int, Field("Number of topics that could not be read. The table topics has the reasons.")
    ] = 0
    findings: Annotated[
        tuple[AuditFinding, ...], Field("The worst findings, at most 20. The table findings has all.", max_items=20)
    ] = ()
    tables: Annotated[str, Field("URI of the folder with the tables.", max_length=2048)]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditStatus(AuditFigures):
    """The last complete audit."""

    completed_at: Annotated[str, Field("End of the audit, in UTC.", format="date-time", max_length=32)]
    job: Annotated[str, Field("Name of its Job, in the validation namespace.", max_length=253)]
