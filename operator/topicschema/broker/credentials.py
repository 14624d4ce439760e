"""Who we are to a broker: values only, which no repr, log or error ever shows."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Token:
    """A token as it is sent: the content of a Secret, without space around it."""

    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class OAuth2ClientCredentials:
    """OAuth2's client credentials grant; the issuer's well-known document names the token endpoint."""

    issuer_url: str
    client_id: str
    client_secret: str = field(repr=False)
    audience: str = ""
    scope: str = ""


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    """A client certificate with its chain, and its key: PEM, the key without a password."""

    certificate: bytes = field(repr=False)
    key: bytes = field(repr=False)


Credential = Token | OAuth2ClientCredentials | ClientCertificate | None
"""None: nobody in particular."""
