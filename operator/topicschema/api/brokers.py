"""How a policy reaches its Pulsar cluster, what it may change there, and what was seen there.

What the addresses and names here lead to is asked elsewhere: the controller's allow list has the last word on hosts.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, ClassVar

from yarl import URL

from topicschema.api.schema_fields import Field, Rule
from topicschema.core.strategies import Strategy


class ManagementPolicy(StrEnum):
    """Whether the broker is written to. Manage is the default."""

    MANAGE = "Manage"
    OBSERVE = "Observe"


class AdoptionPolicy(StrEnum):
    """What becomes of schemas that the broker has and the record has not. Adopt is the default."""

    ADOPT = "Adopt"
    REFUSE = "Refuse"


_HOST = r"([A-Za-z0-9]([-A-Za-z0-9._]*[A-Za-z0-9])?|\\[[0-9A-Fa-f:.]+\\])(:[0-9]{1,5})?"
_SERVICE = ".svc.cluster.local"
_NAME = Field(
    "The Secret's name, in the policy's own Kubernetes namespace.",
    max_length=253,
    pattern=r"^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretKeyRef:
    """One member of a Secret in the policy's own Kubernetes namespace."""

    name: Annotated[str, _NAME]
    key: Annotated[str, Field("The member of the Secret that has it.", max_length=253, pattern=r"^[-._a-zA-Z0-9]+$")]


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretRef:
    """A Secret in the policy's own Kubernetes namespace."""

    name: Annotated[str, _NAME]


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenSpec:
    """A token that the broker takes as it is, for instance a JSON Web Token."""

    secret_key_ref: Annotated[SecretKeyRef, Field("Where the token is.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuth2Spec:
    """OAuth 2.0 client credentials."""

    issuer_url: Annotated[
        str,
        Field(
            "Who gives out tokens: the URL under which .well-known/openid-configuration is found.",
            max_length=2048,
            rules=(
                Rule(
                    cel=f"self.matches('^https?://{_HOST}(/[-A-Za-z0-9._~/]*)?$')",
                    message="write https://HOST or https://HOST/PATH, without user, query and fragment",
                ),
            ),
        ),
    ]
    client_id: Annotated[str, Field("The client's id.", min_length=1, max_length=512)]
    audience: Annotated[
        str | None, Field("The audience that the token is asked for, for instance urn:pulsar:prod.", max_length=1024)
    ] = None
    scope: Annotated[str | None, Field("The scopes to ask for, with spaces between.", max_length=1024)] = None
    secret_key_ref: Annotated[SecretKeyRef, Field("Where the client's secret is.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientCertificateSpec:
    """A certificate that the operator shows when it connects."""

    secret_ref: Annotated[SecretRef, Field("A Secret of type kubernetes.io/tls: tls.crt and tls.key.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthenticationSpec:
    """Who the operator is to the broker; exactly one way."""

    RULES: ClassVar = (
        Rule(
            cel="[has(self.token), has(self.oauth2), has(self.tls)].filter(given, given).size() == 1",
            message="give one of token, oauth2 and tls",
        ),
    )

    token: Annotated[TokenSpec | None, Field("By a token.")] = None
    oauth2: Annotated[OAuth2Spec | None, Field("By OAuth 2.0 client credentials.")] = None
    tls: Annotated[ClientCertificateSpec | None, Field("By a client certificate; only over https.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsSpec:
    """By what the broker is trusted."""

    ca_secret_key_ref: Annotated[
        SecretKeyRef, Field("The certificates (PEM) of those who sign the broker's; absent: the operator image's own.")
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class PulsarSpec:
    """The Pulsar cluster's admin API, and how to reach it."""

    RULES: ClassVar = (
        Rule(
            cel="!has(self.tls) || !self.adminURL.startsWith('http:')",
            message="tls is for https: change adminURL, or leave it out",
            path=".tls",
            reason="FieldValueForbidden",
        ),
        Rule(
            cel="!has(self.authentication) || !has(self.authentication.tls) || !self.adminURL.startsWith('http:')",
            message="a client certificate is shown over https only: change adminURL",
            path=".authentication",
            reason="FieldValueForbidden",
        ),
    )

    admin_url: Annotated[
        str,
        Field(
            "Where the admin API is, for instance https://pulsar-admin:8443. Its host must be in the operator's allow "
            "list. A change of it is taken as the same Pulsar cluster at another place.",
            max_length=2048,
            rules=(
                Rule(
                    cel=f"self.matches('^https?://{_HOST}/?$')",
                    message="write https://HOST:PORT or http://HOST:PORT, without user, path, query and fragment",
                ),
            ),
        ),
    ]
    service_url: Annotated[
        str | None,
        Field(
            "Where clients reach the brokers, for instance pulsar+ssl://pulsar:6651: what validation reads the topics' "
            "messages from. The operator never calls it, but sends pods there: its hosts must be in the allow list.",
            max_length=2048,
            rules=(
                Rule(
                    cel=f"self.matches('^pulsar([+]ssl)?://{_HOST}(,{_HOST})*/?$')",
                    message="write pulsar://HOST:PORT or pulsar+ssl://HOST:PORT, several hosts with commas between",
                ),
            ),
        ),
    ] = None
    authentication: Annotated[
        AuthenticationSpec | None, Field("Who the operator is to the broker; absent: nobody.")
    ] = None
    tls: Annotated[TlsSpec | None, Field("By what the broker is trusted over https.")] = None

    @property
    def address(self) -> str:
        """HOST:PORT of the admin API, spelled in one way; the text itself where it is no URL."""
        try:
            url = URL(self.admin_url)
            host, port = (url.host or "").rstrip("."), url.port
        except ValueError:
            return self.admin_url
        # A Service's name in full and in short; where the cluster's domain is another one, there is no such name.
        return f"{host.removesuffix('.cluster.local') if host.endswith(_SERVICE) else host}:{port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedBroker:
    """What the broker does where nothing is set; absent where it does not tell."""

    schema_compatibility_strategy: Annotated[
        Strategy | None, Field("The broker's own schema compatibility strategy.")
    ] = None
    is_allow_auto_update_schema: Annotated[
        bool | None, Field("Whether clients may add schemas where the Pulsar namespace says nothing.")
    ] = None
    schema_validation_enforced: Annotated[
        bool | None, Field("Whether producers need a schema everywhere, whatever namespaces and topics say.")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedSettings:
    """What the Pulsar namespace has at the broker, and the broker itself; absent where nothing is set."""

    schema_compatibility_strategy: Annotated[
        Strategy | None, Field("The Pulsar namespace's schema compatibility strategy.")
    ] = None
    schema_auto_update_compatibility_strategy: Annotated[
        str | None,
        Field(
            "The older setting that Pulsar deprecated, by its own names (Full, AutoUpdateDisabled); it counts where "
            "there is no schema compatibility strategy.",
            max_length=64,
        ),
    ] = None
    is_allow_auto_update_schema: Annotated[
        bool | None, Field("Whether clients may add schemas to the topics of the Pulsar namespace.")
    ] = None
    schema_validation_enforced: Annotated[
        bool | None, Field("Whether producers need a schema for topics that have one.")
    ] = None
    broker: Annotated[ObservedBroker | None, Field("What the broker does where nothing is set.")] = None
    address: Annotated[
        str | None,
        Field("HOST:PORT where this was seen; it counts as long as the policy names this broker.", max_length=512),
    ] = None
