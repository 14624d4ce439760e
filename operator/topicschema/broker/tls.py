"""TLS contexts for a broker, from PEM in memory. Certificates and keys are never written to a disk."""

import os
import ssl

from topicschema.broker.credentials import ClientCertificate, Credential
from topicschema.broker.errors import SecretInvalidError


def context_of(credential: Credential, ca: bytes | None, *, trusts_system: bool) -> ssl.SSLContext:
    """Return the TLS context. Raise SecretInvalidError for invalid PEM, or a key that does not match its certificate.

    Without a CA, the system's CAs are trusted. With one, they are trusted only if `trusts_system` is True.
    """
    context = ssl.create_default_context() if ca is None else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if ca is not None:
        _trust(context, ca)
        if trusts_system:
            context.load_default_certs()
    if isinstance(credential, ClientCertificate):
        _present(context, credential)
    return context


def _trust(context: ssl.SSLContext, ca: bytes) -> None:
    try:
        context.load_verify_locations(cadata=ca.decode("ascii"))
    except (ssl.SSLError, ValueError):
        raise SecretInvalidError("the CA is no certificate in PEM") from None


def _present(context: ssl.SSLContext, credential: ClientCertificate) -> None:
    # OpenSSL reads only files, so it gets an anonymous file in memory.
    descriptor = os.memfd_create("client-certificate", os.MFD_CLOEXEC)
    try:
        os.write(descriptor, credential.certificate.strip() + b"\n" + credential.key.strip() + b"\n")
        context.load_cert_chain(f"/proc/self/fd/{descriptor}", password=_no_password)
    except (ssl.SSLError, ValueError):
        message = "tls.crt and tls.key are no certificate and key in PEM that belong together, without a password"
        raise SecretInvalidError(message) from None
    finally:
        os.close(descriptor)


def _no_password() -> bytes:
    raise ValueError("the key has a password")  # without this, OpenSSL would prompt for it
