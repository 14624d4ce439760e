"""A registry's settings of the pods that read retained messages.

There are only fields that cannot break out of a pod: no volumes, no privileges, nothing of the host.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated

from topicschema.api.schema_fields import Amount, CelRule, Field

_LABEL = r"^([A-Za-z0-9.-]{1,253}/)?[A-Za-z0-9]([-._A-Za-z0-9]{0,61}[A-Za-z0-9])?$"
_IMAGE = r"^[A-Za-z0-9][-A-Za-z0-9._/:@]*$"
_QUANTITY = Field(max_length=32, pattern=r"^[0-9]+(\.[0-9]+)?(m|k|Ki|M|Mi|G|Gi|T|Ti)?$")
_AMOUNTS_RULE = CelRule(
    cel="self.all(name, name in ['cpu', 'memory', 'ephemeral-storage'])",
    message="use only cpu, memory and ephemeral-storage",
    holds=lambda amounts: amounts.keys() <= {"cpu", "memory", "ephemeral-storage"},
)


class TolerationEffect(StrEnum):
    """The effect of a taint."""

    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"


class TolerationOperator(StrEnum):
    """The operator of a toleration."""

    EQUAL = "Equal"
    EXISTS = "Exists"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourcesSpec:
    """Resources of each pod of a run."""

    requests: Annotated[
        Mapping[str, Annotated[Amount, _QUANTITY]],
        Field("Requested resources.", max_properties=3, rules=(_AMOUNTS_RULE,)),
    ] = field(default_factory=dict)
    limits: Annotated[
        Mapping[str, Annotated[Amount, _QUANTITY]],
        Field("Resource limits.", max_properties=3, rules=(_AMOUNTS_RULE,)),
    ] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TolerationSpec:
    """A toleration of a taint."""

    key: Annotated[str | None, Field("Key of the taint. If unset, it matches all.", max_length=317, pattern=_LABEL)] = (
        None
    )
    operator: Annotated[TolerationOperator | None, Field("Equal (default) or Exists.")] = None
    value: Annotated[str | None, Field("Value of the taint.", max_length=63)] = None
    effect: Annotated[TolerationEffect | None, Field("Effect of the taint. If unset, it matches all.")] = None
    toleration_seconds: Annotated[int | None, Field("Seconds of toleration, if the effect is NoExecute.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateSpec:
    """Settings of the pods of validation runs."""

    image: Annotated[
        str | None,
        Field(
            "The validation image. Default: the operator's.",
            max_length=512,
            pattern=_IMAGE,
        ),
    ] = None
    spark_image: Annotated[
        str | None,
        Field(
            "The validation image with Spark, for runs with executors. Default: the operator's.",
            max_length=512,
            pattern=_IMAGE,
        ),
    ] = None
    service_account_name: Annotated[
        str | None,
        Field(
            "ServiceAccount of the pods, in the validation namespace. Its token is mounted only with executors, and it "
            "then must be allowed to create, watch and delete pods there. Default: the chart's.",
            max_length=253,
            pattern=r"^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$",
        ),
    ] = None
    resources: Annotated[
        ResourcesSpec | None,
        Field("Resources of each pod. Default: requests of one CPU and 1 GiB, and a limit of 2 GiB."),
    ] = None
    node_selector: Annotated[
        Mapping[str, Annotated[str, Field(max_length=63)]],
        Field("Labels of the nodes for the pods.", max_properties=32),
    ] = field(default_factory=dict)
    labels: Annotated[
        Mapping[str, Annotated[str, Field(max_length=63)]], Field("Further labels of the pods.", max_properties=32)
    ] = field(default_factory=dict)
    annotations: Annotated[
        Mapping[str, Annotated[str, Field(max_length=1024)]],
        Field("Further annotations of the pods.", max_properties=32),
    ] = field(default_factory=dict)
    tolerations: Annotated[tuple[TolerationSpec, ...], Field("Tolerations of the pods.", max_items=32)] = ()
