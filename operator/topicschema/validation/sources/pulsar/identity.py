"""Credentials of a run for the broker, from mounted files or an environment variable.

Files are read again for each span, so a token that is replaced during a run takes effect.
"""

import os
from pathlib import Path
from typing import Final

from topicschema.broker.credentials import ClientCertificate, Credential, OAuth2ClientCredentials, Token
from topicschema.broker.errors import SecretInvalidError
from topicschema.validation.errors import SourceError
from topicschema.validation.request import OAuth2Flow, PulsarSource

_MAX_BYTES: Final = 1 << 20


def credential_of(pulsar: PulsarSource) -> Credential:
    """Return the credential for the admin API. Raises SourceError if a file is missing or has no credential."""
    if pulsar.token_file is not None:
        return Token(token_of(pulsar.token_file))
    if pulsar.token_variable is not None:
        return _token_in(pulsar.token_variable)
    if pulsar.oauth2 is not None:
        return _oauth2(pulsar.oauth2)
    if pulsar.certificate_file is not None and pulsar.key_file is not None:
        return ClientCertificate(content_of(pulsar.certificate_file), content_of(pulsar.key_file))
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


def _token_in(variable: str) -> Token:
    """Return the token in the environment variable. Raises SourceError if it has none."""
    try:
        return Token.of(os.environ.get(variable, "").encode())
    except SecretInvalidError as error:
        raise SourceError(error.message, f"environment variable {variable}") from None


def _oauth2(flow: OAuth2Flow) -> OAuth2ClientCredentials:
    try:
        secret = OAuth2ClientCredentials.secret_of(content_of(flow.secret_file))
    except SecretInvalidError as error:
        raise SourceError(error.message, flow.secret_file) from None
    return OAuth2ClientCredentials(flow.issuer_url, flow.client_id, secret, flow.audience, flow.scope)
