"""Credentials of a run for the broker, from the mounted files.

They are read again for each span, so a token that is replaced during a run takes effect.
"""

import json
from pathlib import Path
from typing import Any, Final

from topicschema.broker.credentials import ClientCertificate, Credential, OAuth2ClientCredentials, Token
from topicschema.broker.errors import SecretInvalidError
from topicschema.validation.errors import SourceError
from topicschema.validation.request import OAuth2Flow, PulsarSource

_MAX_BYTES: Final = 1 << 20


def credential_of(asked: PulsarSource) -> Credential:
    """Return the credential for the admin API. Raises SourceError if a file is missing or has no credential."""
    if asked.token_file is not None:
        return Token(token_of(asked.token_file))
    if asked.oauth2 is not None:
        return _oauth2(asked.oauth2)
    if asked.certificate_file is not None and asked.key_file is not None:
        return ClientCertificate(content_of(asked.certificate_file), content_of(asked.key_file))
    return None


def token_of(path: str) -> str:
    """Return the token in the file. Raises SourceError if it has none."""
    try:
        return Token.of(content_of(path)).text
    except SecretInvalidError as error:
        raise SourceError(error.message, path) from None


def content_of(path: str) -> bytes:
    """Return the content of the file. Raises SourceError if it cannot be read."""
    try:
        with Path(path).open("rb") as file:
            return file.read(_MAX_BYTES)
    except OSError as error:
        raise SourceError(f"the mounted file cannot be read: {error.strerror}", path) from None


def _oauth2(asked: OAuth2Flow) -> OAuth2ClientCredentials:
    told = _object(asked.key_file)
    found = [told.get(name) for name in ("client_id", "client_secret")]
    if not all(isinstance(each, str) and each for each in found):
        raise SourceError("it must be a JSON object with client_id and client_secret", asked.key_file)
    return OAuth2ClientCredentials(asked.issuer_url, str(found[0]), str(found[1]), asked.audience, asked.scope or "")


def _object(path: str) -> dict[str, Any]:
    try:
        told = json.loads(content_of(path))
    except (ValueError, RecursionError):
        raise SourceError("it is not JSON", path) from None
    return told if isinstance(told, dict) else {}
