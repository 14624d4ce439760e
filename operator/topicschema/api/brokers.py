"""A policy's access to its Pulsar cluster, and the settings observed there.

The controller checks hosts against its allow list (see `broker`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, ClassVar

from topicschema.api.schema_fields import CelRule, Field, matching, one_of
from topicschema.core.strategies import Strategy


class ManagementPolicy(StrEnum):
    """The operator's access to the broker. Manage is the default."""

    MANAGE = "Manage"
    OBSERVE = "Observe"


class AdoptionPolicy(StrEnum):
    """The operator's handling of schemas that only the broker has. Adopt is the default."""

    ADOPT = "Adopt"
    REFUSE = "Refuse"


_HOST = r"([A-Za-z0-9]([-A-Za-z0-9._]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?"
_SERVICE = ".svc.cluster.local"
_NAME = Field(
    "Name of the Secret, in the policy's Kubernetes namespace.",
    max_length=253,
    pattern=r"^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretKeyRef:
    """One key of a Secret in the policy's Kubernetes namespace."""

    name: Annotated[str, _NAME]
    key: Annotated[str, Field("Key within the Secret.", max_length=253, pattern=r"^[-._a-zA-Z0-9]+$")]


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretRef:
    """A Secret in the policy's own Kubernetes namespace."""

    name: Annotated[str, _NAME]


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenSpec:
    """A token that the broker takes as it is, for instance a JSON Web Token."""

    secret_key_ref: Annotated[SecretKeyRef, Field("The Secret with the token.")]


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
    secret_key_ref: Annotated[SecretKeyRef, Field("The Secret with the client secret.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientCertificateSpec:
    """The client certificate of the operator."""

    secret_ref: Annotated[SecretRef, Field("Secret of type kubernetes.io/tls, with tls.crt and tls.key.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthenticationSpec:
    """Credentials for the admin API: exactly one kind."""

    RULES: ClassVar = (one_of("token", "oauth2", "tls"),)

    token: Annotated[TokenSpec | None, Field("Authenticate with a token.")] = None
    oauth2: Annotated[OAuth2Spec | None, Field("Authenticate with OAuth 2.0 client credentials.")] = None
    tls: Annotated[ClientCertificateSpec | None, Field("Authenticate with a client certificate. Requires https.")] = (
        None
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsSpec:
    """TLS settings for connecting to the broker."""

    ca_secret_key_ref: Annotated[
        SecretKeyRef, Field("CA certificates (PEM) that replace those of the operator's image.")
    ]


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
            "URL of the admin API, for instance https://pulsar-admin:8443. Its host must be in the "
            "operator's allow list. If you change it, it must still be the same Pulsar cluster.",
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
            "URL of the brokers for clients, for instance pulsar+ssl://pulsar:6651. Validation pods "
            "read messages from it; the operator itself does not connect. Its hosts must be in the "
            "operator's allow list.",
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
        AuthenticationSpec | None, Field("Credentials for the admin API. If unset, requests are unauthenticated.")
    ] = None
    tls: Annotated[TlsSpec | None, Field("TLS settings for connecting to the broker over https.")] = None

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
class ObservedBroker:
    """The broker's own settings; unset if the broker does not report them."""

    schema_compatibility_strategy: Annotated[
        Strategy | None, Field("The broker's own schema compatibility strategy.")
    ] = None
    is_allow_auto_update_schema: Annotated[
        bool | None, Field("If true, clients may add schemas in Pulsar namespaces without this setting.")
    ] = None
    schema_validation_enforced: Annotated[
        bool | None, Field("If true, producers need a schema in all namespaces, whatever their settings.")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedRelease:
    """The broker's release, and where it was read."""

    release: Annotated[str, Field("Release as the broker reports it, for instance 4.0.7.", max_length=64)]
    address: Annotated[
        str, Field("HOST:PORT of the broker. The release counts as long as the policy names it.", max_length=512)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedSettings:
    """The settings of the Pulsar namespace and the broker; unset if nothing is set."""

    schema_compatibility_strategy: Annotated[
        Strategy | None, Field("Schema compatibility strategy of the Pulsar namespace.")
    ] = None
    schema_auto_update_compatibility_strategy: Annotated[
        str | None,
        Field(
            "Pulsar's deprecated setting, by its own names (Full, AutoUpdateDisabled). It applies if "
            "there is no schema compatibility strategy.",
            max_length=64,
        ),
    ] = None
    is_allow_auto_update_schema: Annotated[
        bool | None, Field("If true, clients may add schemas to topics of the Pulsar namespace.")
    ] = None
    schema_validation_enforced: Annotated[
        bool | None, Field("If true, producers need a schema on topics with a schema.")
    ] = None
    broker: Annotated[ObservedBroker | None, Field("The broker's own settings.")] = None
    address: Annotated[
        str | None,
        Field(
            "HOST:PORT of the broker with these settings. They apply as long as the policy names this broker.",
            max_length=512,
        ),
    ] = None
