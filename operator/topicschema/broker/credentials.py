"""Credentials for a broker, as values that no repr, log or error shows. `identity` uses them."""

import base64
import contextlib
import json
import re
from dataclasses import dataclass, field
from typing import Self

from topicschema.broker.errors import SecretInvalidError

_SENDABLE = re.compile(r"[\x21-\x7e]+")


@dataclass(frozen=True, slots=True)
class Token:
    """A bearer token."""

    text: str = field(repr=False)

    @classmethod
    def of(cls, content: bytes) -> Self:
        """Return the token in a Secret or a file, stripped. Raise SecretInvalidError if it is empty or invalid."""
        return cls(_text(content, "the token"))

    @property
    def role(self) -> str | None:
        """The role of a JSON Web Token: its claim `sub`, which Pulsar uses by default. None for another token."""
        with contextlib.suppress(ValueError, IndexError, TypeError, AttributeError):
            claims = self.text.split(".")[1]
            role = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4))).get("sub")
            return role if isinstance(role, str) and role.isprintable() else None
        return None


@dataclass(frozen=True, slots=True)
class OAuth2ClientCredentials:
    """OAuth 2.0 client credentials. As for Pulsar's clients, the issuer's well-known document has the token endpoint.

    Empty texts are not sent.
    """

    issuer_url: str
    client_id: str
    client_secret: str = field(repr=False)
    audience: str = ""
    scope: str = ""

    @staticmethod
    def secret_of(content: bytes) -> str:
        """Return the client's secret in a Secret or a file. Raise SecretInvalidError if it is empty or invalid."""
        return _text(content, "the client's secret")


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    """A client certificate with its chain, and its key without a password, both PEM."""

    certificate: bytes = field(repr=False)
    key: bytes = field(repr=False)


Credential = Token | OAuth2ClientCredentials | ClientCertificate | None
"""None means anonymous access."""


def _text(content: bytes, what: str) -> str:
    text = content.strip().decode("ascii", "replace")
    if _SENDABLE.fullmatch(text) is None:
        raise SecretInvalidError(f"{what} is empty, or is not one line of plain text")
    return text
