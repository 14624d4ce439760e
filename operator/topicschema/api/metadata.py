"""Metadata and conditions, which every resource has."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated

from topicschema.api.schema_fields import Field


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """The part of ObjectMeta that the operator reads."""

    name: str
    namespace: str = ""
    uid: str = ""
    generation: int = 0
    resource_version: str = ""
    deletion_timestamp: str | None = None
    finalizers: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)


class ConditionType(StrEnum):
    """The conditions in use; Reconciling and Stalled are absent when false (kstatus)."""

    READY = "Ready"
    RECONCILING = "Reconciling"
    STALLED = "Stalled"
    COMPATIBLE = "Compatible"
    REGISTERED = "Registered"
    IN_SYNC = "InSync"
    VALIDATED = "Validated"
    REACHABLE = "Reachable"
    AUDITED = "Audited"


class ConditionStatus(StrEnum):
    """The status of a condition."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One condition. `last_transition_time` is RFC 3339 UTC with seconds and moves only when `status` does."""

    type: Annotated[ConditionType, Field("Type of the condition.")]
    status: Annotated[ConditionStatus, Field("True, False or Unknown.")]
    reason: Annotated[
        str, Field("Reason in one stable word, for programs.", max_length=128, pattern="^[A-Za-z][A-Za-z0-9]*$")
    ]
    message: Annotated[str, Field("Explanation for people.", max_length=8192, is_required=True)] = ""
    observed_generation: Annotated[int, Field("Generation of the resource that the condition describes.")] = 0
    last_transition_time: Annotated[
        str, Field("Time of the last change of `status`.", format="date-time", max_length=32, is_required=True)
    ] = ""


CONDITIONS = Field(
    "Conditions of the resource.",
    max_items=8,
    list_type="map",
    list_map_keys=("type",),
)
