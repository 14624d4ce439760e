"""What every resource carries: its metadata, and conditions in Kubernetes' form."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated

from topicschema.api.schema_fields import Field


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """The part of ObjectMeta that the product looks at."""

    name: str
    namespace: str = ""
    uid: str = ""
    generation: int = 0
    resource_version: str = ""
    deletion_timestamp: str | None = None
    finalizers: tuple[str, ...] = ()
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


class ConditionStatus(StrEnum):
    """Kubernetes' three truths."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One condition. `last_transition_time` is RFC 3339 UTC with seconds and moves only when `status` does."""

    type: Annotated[ConditionType, Field("What the condition is about.")]
    status: Annotated[ConditionStatus, Field("Whether it holds.")]
    reason: Annotated[
        str, Field("Why, in one word that programs may rely on.", max_length=128, pattern="^[A-Za-z][A-Za-z0-9]*$")
    ]
    message: Annotated[str, Field("Why, in words for people.", max_length=8192)] = ""
    observed_generation: Annotated[int, Field("The generation of the resource that this was said of.")] = 0
    last_transition_time: Annotated[str, Field("When `status` last changed.", format="date-time", max_length=32)] = ""


CONDITIONS = Field(
    "What is to be said of the resource, for people and for `kubectl wait`.",
    max_items=8,
    list_type="map",
    list_map_keys=("type",),
)
