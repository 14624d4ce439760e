"""Who we are to a broker: values only, which no repr, log or error ever shows. What is done with them: `identity`."""

import re
from dataclasses import dataclass, field
from typing import Self

from topicschema.broker.errors import SecretInvalidError

_SENDABLE = re.compile(r"[\x21-\x7e]+")


@dataclass(frozen=True, slots=True)
class Token:
    """A token as it is sent."""

    text: str = field(repr=False)

    @classmethod
    def of(cls, content: bytes) -> Self:
        """The token in a Secret or a file, without the space around it; SecretInvalidError where there is none."""
        return cls(_text(content, "the token"))


@dataclass(frozen=True, slots=True)
class OAuth2ClientCredentials:
    """OAuth 2.0 client credentials; the issuer's well-known document names the token endpoint (as Pulsar's clients do).

    Empty texts are not sent.
    """

    issuer_url: str
    client_id: str
    client_secret: str = field(repr=False)
    audience: str = ""
    scope: str = ""

    @staticmethod
    def secret_of(content: bytes) -> str:
        """The client's secret in a Secret or a file; SecretInvalidError where there is none."""
        return _text(content, "the client's secret")


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    """A client certificate with its chain, and its key: PEM, the key without a password."""

    certificate: bytes = field(repr=False)
    key: bytes = field(repr=False)


Credential = Token | OAuth2ClientCredentials | ClientCertificate | None
"""None: nobody in particular."""


def _text(content: bytes, what: str) -> str:
    text = content.strip().decode("ascii", "replace")
    if _SENDABLE.fullmatch(text) is None:
        raise SecretInvalidError(f"{what} is empty, or is not one line of plain text")
    return text
