"""SchemaRegistry: where the schemas of Pulsar namespaces are registered, and who may govern them.

It is cluster-scoped and owned by the platform team. Policies name it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, ClassVar

from topicschema.api.brokers import ObservedBroker
from topicschema.api.metadata import CONDITIONS, Condition, Metadata
from topicschema.api.schema_fields import (
    LENIENT,
    OBSERVED_GENERATION,
    Amount,
    CelRule,
    Field,
    matching,
    not_matching,
    one_of,
)
from topicschema.api.validation import STORE_RULES
from topicschema.api.validation_pods import TemplateSpec
from topicschema.core.policy import may_claim
from topicschema.core.schemas import PulsarVersion


class LabelOperator(StrEnum):
    """The operator of a label requirement."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"


_HOST = r"([A-Za-z0-9]([-A-Za-z0-9._]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?"
_SERVICE = ".svc.cluster.local"
_SECRET_NAME = Field(
    "Name of the Secret.",
    max_length=253,
    pattern=r"^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretKeyRef:
    """One key of a Secret."""

    name: Annotated[str, _SECRET_NAME]
    key: Annotated[str, Field("Key within the Secret.", max_length=253, pattern=r"^[-._a-zA-Z0-9]+$")]


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretRef:
    """A Secret."""

    name: Annotated[str, _SECRET_NAME]


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenSpec:
    """A token that the broker takes as it is, for instance a JSON Web Token."""

    secret_ref: Annotated[SecretKeyRef, Field("The Secret with the token.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuth2Spec:
    """OAuth 2.0 client credentials."""

    issuer_url: Annotated[
        str,
        Field(
            "URL of the issuer, under which .well-known/openid-configuration is found.",
            max_length=2048,
            rules=(
                matching(
                    f"^https?://{_HOST}(/[-A-Za-z0-9._~/]*)?$",
                    "write https://HOST or https://HOST/PATH, without user, query and fragment",
                ),
            ),
        ),
    ]
    client_id: Annotated[str, Field("Client id.", min_length=1, max_length=512)]
    audience: Annotated[str | None, Field("Audience of the token, for instance urn:pulsar:prod.", max_length=1024)] = (
        None
    )
    scope: Annotated[str | None, Field("Scopes of the token, separated by spaces.", max_length=1024)] = None
    secret_ref: Annotated[SecretKeyRef, Field("The Secret with the client secret.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientCertificateSpec:
    """A client certificate."""

    secret_ref: Annotated[SecretRef, Field("Secret of type kubernetes.io/tls, with tls.crt and tls.key.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthenticationSpec:
    """Credentials: exactly one kind."""

    RULES: ClassVar = (one_of("token", "oauth2", "tls"),)

    token: Annotated[TokenSpec | None, Field("Authenticate with a token.")] = None
    oauth2: Annotated[OAuth2Spec | None, Field("Authenticate with OAuth 2.0 client credentials.")] = None
    tls: Annotated[ClientCertificateSpec | None, Field("Authenticate with a client certificate. Requires https.")] = (
        None
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsSpec:
    """TLS settings for connecting to the broker."""

    ca_secret_ref: Annotated[
        SecretKeyRef,
        Field("CA certificates (PEM) that replace those of the operator's image, in the operator's namespace."),
    ]


_REDIRECT_RULE = matching(
    r"^(\[[0-9A-Fa-f:.]+\]|[-A-Za-z0-9_.*]+)(:[0-9]{1,5})?$", "write HOST or HOST:PORT, with * for a part"
)


def _is_plain(pulsar: Mapping[str, Any]) -> bool:
    return bool(pulsar["adminURL"].startswith("http:"))


@dataclass(frozen=True, slots=True, kw_only=True)
class PulsarSpec:
    """The addresses of the Pulsar cluster, and how to connect."""

    RULES: ClassVar = (
        CelRule(
            cel="!has(self.tls) || !self.adminURL.startsWith('http:')",
            message="tls requires https: change adminURL, or remove tls",
            holds=lambda pulsar: pulsar.get("tls") is None or not _is_plain(pulsar),
            path=".tls",
            reason="FieldValueForbidden",
        ),
        CelRule(
            cel="!has(self.authentication) || !has(self.authentication.tls) || !self.adminURL.startsWith('http:')",
            message="a client certificate requires https: change adminURL",
            holds=lambda pulsar: (pulsar.get("authentication") or {}).get("tls") is None or not _is_plain(pulsar),
            path=".authentication",
            reason="FieldValueForbidden",
        ),
    )

    admin_url: Annotated[
        str,
        Field(
            "URL of the admin API, for instance https://pulsar-proxy.pulsar.svc. If you change it, it must still be "
            "the same Pulsar cluster.",
            max_length=2048,
            rules=(
                matching(
                    f"^https?://{_HOST}/?$",
                    "write https://HOST:PORT or http://HOST:PORT, without user, path, query and fragment",
                ),
            ),
        ),
    ]
    service_url: Annotated[
        str | None,
        Field(
            "URL of the brokers for clients, for instance pulsar+ssl://pulsar-proxy.pulsar.svc:6651. Validation pods "
            "read messages from it; the operator itself does not connect.",
            max_length=2048,
            rules=(
                matching(
                    f"^pulsar([+]ssl)?://{_HOST}(,{_HOST})*/?$",
                    "write pulsar://HOST:PORT or pulsar+ssl://HOST:PORT, and separate several hosts by commas",
                ),
            ),
        ),
    ] = None
    authentication: Annotated[
        AuthenticationSpec | None,
        Field(
            "Credentials for the admin API, in Secrets of the operator's namespace. If unset, requests are "
            "unauthenticated."
        ),
    ] = None
    tls: Annotated[TlsSpec | None, Field("TLS settings for connecting to the broker over https.")] = None
    redirect_hosts: Annotated[
        tuple[Annotated[str, Field(max_length=320, rules=(_REDIRECT_RULE,))], ...],
        Field(
            "Further hosts that get the credentials if the broker redirects to them, for instance "
            "'*.pulsar-broker.pulsar.svc.cluster.local:8443'. An asterisk matches any text without a dot. The host of "
            "adminURL is always allowed.",
            max_items=32,
            list_type="set",
        ),
    ] = ()
    version: Annotated[
        PulsarVersion | None,
        Field(
            "Pulsar version whose rules judge, only for a broker that does not report its own. Another one than the "
            "broker's makes the registry not ready."
        ),
    ] = None

    @property
    def address(self) -> str:
        """HOST:PORT of the admin API in normalized form, or the text itself if it is not a URL."""
        from yarl import URL  # noqa: PLC0415  # a tenth of the command line's startup time

        try:
            url = URL(self.admin_url)
            host, port = (url.host or "").rstrip("."), url.port
        except ValueError:
            return self.admin_url
        # A Service's name in full and in short; where the cluster's domain is another one, there is no such name.
        return f"{host.removesuffix('.cluster.local') if host.endswith(_SERVICE) else host}:{port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelRequirementSpec:
    """One expression over a label, as in a label selector."""

    key: Annotated[str, Field("Key of the label.", max_length=317)]
    operator: Annotated[LabelOperator, Field("In, NotIn, Exists or DoesNotExist.")]
    values: Annotated[
        tuple[Annotated[str, Field(max_length=63)], ...], Field("Values for In and NotIn.", max_items=64)
    ] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceSelectorSpec:
    """A selection of Kubernetes namespaces. All members that are set must match."""

    RULES: ClassVar = (
        CelRule(
            cel="has(self.matchNames) || has(self.matchLabels) || has(self.matchExpressions)",
            message="select by matchNames, matchLabels or matchExpressions",
            holds=lambda selector: any(
                selector.get(each) for each in ("matchNames", "matchLabels", "matchExpressions")
            ),
        ),
    )

    match_names: Annotated[
        tuple[Annotated[str, Field(max_length=63, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")], ...],
        Field("Names of namespaces.", max_items=256, list_type="set"),
    ] = ()
    match_labels: Annotated[
        Mapping[str, Annotated[str, Field(max_length=63)]], Field("Labels with these values.", max_properties=32)
    ] = field(default_factory=dict)
    match_expressions: Annotated[tuple[LabelRequirementSpec, ...], Field("Expressions over labels.", max_items=32)] = ()

    def matches(self, name: str, labels: Mapping[str, str]) -> bool:
        """Return True if a namespace of that name, with these labels, is selected. An empty selector selects none."""
        if not (self.match_names or self.match_labels or self.match_expressions):
            return False
        return (
            (not self.match_names or name in self.match_names)
            and self.match_labels.items() <= labels.items()
            and all(_holds(each, labels) for each in self.match_expressions)
        )


def _holds(requirement: LabelRequirementSpec, labels: Mapping[str, str]) -> bool:
    """Return True if the labels meet the requirement, as Kubernetes' label selectors define it."""
    value = labels.get(requirement.key)
    match requirement.operator:
        case LabelOperator.IN:
            return value in requirement.values
        case LabelOperator.NOT_IN:
            return value not in requirement.values
        case LabelOperator.EXISTS:
            return value is not None
        case LabelOperator.DOES_NOT_EXIST:
            return value is None


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedNamespaceSpec:
    """Kubernetes namespaces, and the Pulsar namespaces that their policies may govern."""

    namespace_selector: Annotated[NamespaceSelectorSpec, Field("The Kubernetes namespaces.")]
    pulsar_namespaces: Annotated[
        tuple[
            Annotated[
                str,
                Field(
                    max_length=512,
                    rules=(
                        matching(r"^[-=:.\w*]+/[-=:.\w*]+$", "write TENANT/NAMESPACE, with * for any text in a part"),
                    ),
                ),
            ],
            ...,
        ],
        Field(
            "Pulsar namespaces as globs, for instance shop/*. An asterisk matches any text without a slash.",
            max_items=64,
            list_type="set",
        ),
    ]


_BYTES = r"^([0-9]+)(\.[0-9]+)?(k|Ki|M|Mi|G|Gi|T|Ti)?$"
_UNITS: Mapping[str, int] = {
    "": 1,
    **{unit: 1000**power for power, unit in enumerate("kMGT", 1)},
    **{f"{unit}i": 1024**power for power, unit in enumerate("KMGT", 1)},
}


def _bytes_of(amount: Amount) -> int:
    """Return the bytes, rounded down, or 0 for an amount that bypassed the CRD."""
    match = re.match(_BYTES, amount)
    if match is None:
        return 0
    whole, fraction, unit = match.groups()
    digits = (fraction or "")[1:]
    return int(whole + digits) * _UNITS[unit or ""] // int("1" + "0" * len(digits))


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitsSpec:
    """Limits of each policy of the registry; an unset field does not limit."""

    bytes: Annotated[
        Amount | None,
        Field(
            "Bytes that the histories of one policy's Pulsar namespace may take in the operator's store, for instance "
            "512Mi. Beyond it, the operator refuses new topics and new versions. Default: no limit.",
            max_length=32,
            pattern=_BYTES,
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryValidationSpec:
    """Settings of all validations of retained messages under policies of the registry."""

    authentication: Annotated[
        AuthenticationSpec | None,
        Field(
            "Credentials of a role that may only consume, in Secrets of the validation namespace. The operator's own "
            "are never used. If unset, runs are unauthenticated."
        ),
    ] = None
    pod_template: Annotated[TemplateSpec | None, Field("Settings of the pods.")] = None
    max_executors: Annotated[
        int | None,
        Field("Maximum number of Spark executors of one run. A run takes as many as it needs. Default: 8.", maximum=64),
    ] = None
    destination: Annotated[
        str | None,
        Field(
            "URI of a folder of an object store for the tables of audits, below TENANT/NAMESPACE, and for Spark's "
            "event logs, below spark-events. Audits need s3://. Default: none.",
            max_length=1024,
            rules=(
                *STORE_RULES,
                not_matching(
                    "^s3:///|^[a-z0-9]+://[^?]*//|^[^?]*/[.][.]?([/?]|$)|#",
                    "write a path without empty parts, parts of dots, and #, which programs read in different ways",
                ),
            ),
        ),
    ] = None
    include_values: Annotated[
        bool | None,
        Field("If true, examples in status and report contain values of messages. Default: false."),
    ] = None
    team_label: Annotated[
        str | None,
        Field(
            "Key of a label of the tenants' namespaces. Its value becomes the label topicschema.io/team of Jobs and "
            "pods, for chargeback.",
            max_length=317,
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaRegistrySpec:
    """The desired state."""

    pulsar: Annotated[
        PulsarSpec | None,
        Field("The Pulsar cluster where schemas are registered. If unset, the operator's own store is the registry."),
    ] = None
    allowed_namespaces: Annotated[
        tuple[AllowedNamespaceSpec, ...],
        Field(
            "Who may govern what: policies in the selected Kubernetes namespaces, these Pulsar namespaces. Without an "
            "entry, no policy may.",
            max_items=100,
        ),
    ] = ()
    limits: Annotated[LimitsSpec | None, Field("Limits of each policy of the registry.")] = None
    validation: Annotated[
        RegistryValidationSpec | None,
        Field("Validation of retained messages. If unset, policies of this registry validate nothing."),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedPulsar:
    """Version and settings that the broker reports."""

    version: Annotated[str | None, Field("Release of the broker, for instance 4.0.7.", max_length=64)] = None
    settings: Annotated[
        ObservedBroker | None, Field("The broker's own settings. Unset if the operator's role may not read them.")
    ] = None
    address: Annotated[
        str | None, Field("HOST:PORT of the admin API where this was read, in normalized form.", max_length=512)
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaRegistryStatus:
    """The observed state."""

    observed_generation: Annotated[int, OBSERVED_GENERATION] = -1
    conditions: Annotated[tuple[Condition, ...], CONDITIONS] = ()
    observed: Annotated[
        ObservedPulsar | None, Field("What the broker reported last. Unset before the first report.")
    ] = None


def _secrets_of(authentication: AuthenticationSpec | None) -> tuple[str, ...]:
    if authentication is None:
        return ()
    kinds = (authentication.token, authentication.oauth2, authentication.tls)
    return tuple(each.secret_ref.name for each in kinds if each is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaRegistry:
    """A registry for schemas: a Pulsar cluster, or the operator's own store. Policies name it in spec.registry."""

    metadata: Metadata
    spec: SchemaRegistrySpec
    status: Annotated[SchemaRegistryStatus, LENIENT] = field(default_factory=SchemaRegistryStatus)

    @property
    def address(self) -> str:
        """HOST:PORT of the broker's admin API in normalized form, or "" for the operator's own store."""
        return "" if self.spec.pulsar is None else self.spec.pulsar.address

    @property
    def limit_bytes(self) -> int | None:
        """Bytes that the histories of one policy may take in the store, or None without a limit."""
        limits = self.spec.limits
        return None if limits is None or limits.bytes is None else _bytes_of(limits.bytes)

    @property
    def observed(self) -> ObservedPulsar | None:
        """The last report of the broker of the spec. None without a report, or without a broker in the spec."""
        observed = self.status.observed
        return observed if observed is not None and self.address and observed.address == self.address else None

    @property
    def version(self) -> str | None:
        """The broker's release, else the version that the spec names for it. None for the operator's own store."""
        if self.spec.pulsar is None:
            return None
        reported = None if self.observed is None else self.observed.version
        return reported or self.spec.pulsar.version

    @property
    def secrets(self) -> frozenset[str]:
        """The names of the Secrets in the operator's namespace that the broker's client needs."""
        pulsar = self.spec.pulsar
        if pulsar is None:
            return frozenset()
        ca = () if pulsar.tls is None else (pulsar.tls.ca_secret_ref.name,)
        return frozenset((*ca, *_secrets_of(pulsar.authentication)))

    @property
    def selects_by_labels(self) -> bool:
        """True if a decision needs the labels of the Kubernetes namespace."""
        selectors = (each.namespace_selector for each in self.spec.allowed_namespaces)
        return any(each.match_labels or each.match_expressions for each in selectors)

    def allows(self, namespace: str, labels: Mapping[str, str], pulsar_namespace: str) -> bool:
        """Return True if policies of the Kubernetes namespace may govern the Pulsar namespace."""
        return any(
            may_claim(each.pulsar_namespaces, pulsar_namespace) and each.namespace_selector.matches(namespace, labels)
            for each in self.spec.allowed_namespaces
        )
