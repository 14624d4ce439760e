"""What a policy says of the pods that read retained messages: who they are to the broker, and what they may ask for.

Only fields that cannot leave a pod's bounds are here: no volumes, no privilege, nothing of the host.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, ClassVar

from topicschema.api.brokers import SecretKeyRef, SecretRef, TokenSpec
from topicschema.api.schema_fields import Field, Rule

_LABEL = r"^([A-Za-z0-9.-]{1,253}/)?[A-Za-z0-9]([-._A-Za-z0-9]{0,61}[A-Za-z0-9])?$"
_QUANTITY = Field(max_length=32, pattern=r"^[0-9]+(\.[0-9]+)?(m|k|Ki|M|Mi|G|Gi|T|Ti)?$")
_AMOUNTS_RULE = Rule(
    cel="self.all(name, name in ['cpu', 'memory', 'ephemeral-storage'])",
    message="cpu, memory and ephemeral-storage are what a run can ask for",
)


class TolerationEffect(StrEnum):
    """What a taint does."""

    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"


class TolerationOperator(StrEnum):
    """How a taint is matched."""

    EQUAL = "Equal"
    EXISTS = "Exists"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderOAuth2Spec:
    """OAuth 2.0 client credentials, as Pulsar's own clients take them."""

    issuer_url: Annotated[str, Field("Who gives out tokens.", max_length=2048, pattern=r"^https?://[^\s?#@]+$")]
    audience: Annotated[str | None, Field("The audience that the token is asked for.", max_length=1024)] = None
    scope: Annotated[str | None, Field("The scopes to ask for, with spaces between.", max_length=1024)] = None
    secret_key_ref: Annotated[
        SecretKeyRef,
        Field("Where the key file is: JSON with client_id and client_secret, as Pulsar's clients read it."),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderCertificateSpec:
    """A certificate that a run shows when it connects."""

    secret_ref: Annotated[SecretRef, Field("A Secret of type kubernetes.io/tls: tls.crt and tls.key.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderAuthenticationSpec:
    """Who a run is to the broker: consume rights are enough. The Secret is mounted into its pods; one way only."""

    RULES: ClassVar = (
        Rule(
            cel="[has(self.token), has(self.oauth2), has(self.tls)].filter(given, given).size() == 1",
            message="give one of token, oauth2 and tls",
        ),
    )

    token: Annotated[TokenSpec | None, Field("By a token.")] = None
    oauth2: Annotated[ReaderOAuth2Spec | None, Field("By OAuth 2.0 client credentials.")] = None
    tls: Annotated[ReaderCertificateSpec | None, Field("By a client certificate.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourcesSpec:
    """What each pod of a run asks for, in Kubernetes' words, all as texts (cpu: "2")."""

    requests: Annotated[
        Mapping[str, Annotated[str, _QUANTITY]],
        Field("What it is sure to get.", max_properties=3, rules=(_AMOUNTS_RULE,)),
    ] = field(default_factory=dict)
    limits: Annotated[
        Mapping[str, Annotated[str, _QUANTITY]],
        Field("What it may take at most.", max_properties=3, rules=(_AMOUNTS_RULE,)),
    ] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TolerationSpec:
    """A taint of nodes that a run's pods may be put on all the same."""

    key: Annotated[str | None, Field("The taint's key; absent: all.", max_length=317, pattern=_LABEL)] = None
    operator: Annotated[TolerationOperator | None, Field("Equal (also when absent) or Exists.")] = None
    value: Annotated[str | None, Field("The taint's value.", max_length=63)] = None
    effect: Annotated[TolerationEffect | None, Field("The taint's effect; absent: all.")] = None
    toleration_seconds: Annotated[int | None, Field("How long, where the effect is NoExecute.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateSpec:
    """What may be said of a run's pods. Who sets any of it must be allowed to create pods in this namespace."""

    image: Annotated[
        str | None,
        Field(
            "The validation image; absent: the operator's own choice.",
            max_length=512,
            pattern=r"^[A-Za-z0-9][-A-Za-z0-9._/:@]*$",
        ),
    ] = None
    service_account_name: Annotated[
        str | None,
        Field(
            "The pods' account; absent: the namespace's default. Its token is mounted only where there are executors, "
            "which it must be allowed to create, watch and delete (pods, in this namespace).",
            max_length=253,
            pattern=r"^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$",
        ),
    ] = None
    resources: Annotated[
        ResourcesSpec | None, Field("What each pod asks for; absent: one CPU and 1 GiB, at most 2 GiB.")
    ] = None
    node_selector: Annotated[
        Mapping[str, Annotated[str, Field(max_length=63)]],
        Field("Labels of the nodes to run on.", max_properties=32),
    ] = field(default_factory=dict)
    tolerations: Annotated[
        tuple[TolerationSpec, ...], Field("Taints of nodes to run on all the same.", max_items=32)
    ] = ()
