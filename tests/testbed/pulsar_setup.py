"""The inputs of a testbed broker: its configuration, certificates and tokens, and its command line.

Everything listens on one address. Inactive topics are collected only in a namespace with its own inactiveTopicPolicies:
the broker checks every second, but its own limit is a day.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Self

from cryptography.hazmat.primitives import serialization

from testbed import ports
from testbed.certificates import Authority, Issued
from testbed.paths import write_atomically
from testbed.tokens import ORDINARY, SUPERUSER, Tokens

CLUSTER = "testbed"
_MEMORY = ("-Xmx512m", "-XX:MaxDirectMemorySize=256m", "-XX:+UseSerialGC")
_QUICK = ("-XX:TieredStopAtLevel=1",)  # a short life: the better compiler costs more than it saves
_OPENED = (
    "java.base/sun.net",
    "java.base/java.lang",
    "java.base/java.nio",
    "java.base/jdk.internal.misc",
    "java.base/jdk.internal.platform",
    "java.management/sun.management",
    "jdk.management/com.sun.management.internal",
)
_SMALL = {
    "clusterName": CLUSTER,
    "listeningInterface": "lo",  # of the storage
    "allowLoopback": "true",
    "managedLedgerDefaultEnsembleSize": "1",
    "managedLedgerDefaultWriteQuorum": "1",
    "managedLedgerDefaultAckQuorum": "1",
    "managedLedgerCacheSizeMB": "16",
    # The default storage fails, and stays read-only, once some 44,000 ledgers were made.
    "ledgerStorageClass": "org.apache.bookkeeper.bookie.storage.ldb.DbLedgerStorage",
    "dbStorage_writeCacheMaxSizeMb": "16",
    "dbStorage_readAheadCacheMaxSizeMb": "8",
    "dbStorage_rocksDB_blockCacheSize": "8388608",
    # On a disk that is nearly full, a bookie would become read-only, and the broker's answers late.
    "diskUsageThreshold": "0.99",
    "diskUsageWarnThreshold": "0.99",
    "journalPreAllocSizeMB": "1",
    "journalSyncData": "false",
    "numIOThreads": "2",
    "numHttpServerThreads": "8",
    "brokerDeleteInactiveTopicsFrequencySeconds": "1",
    "brokerDeleteInactiveTopicsMaxInactiveDurationSeconds": "86400",
}


class Access(Enum):
    """The authentication of a broker: none, or over TLS by token or by client certificate, with authorization."""

    OPEN = "open"
    TOKEN = "token"  # noqa: S105 - the name of a way
    CERTIFICATE = "certificate"


@dataclass(frozen=True, slots=True)
class Setup:
    """The configuration of a broker: its authentication, and lines of broker.conf and options of Java, which win.

    `host` is the address of this machine on which it listens and to which it sends clients.
    """

    settings: Mapping[str, str] = field(default_factory=dict)
    access: Access = Access.OPEN
    java: tuple[str, ...] = ()
    host: str = ports.LOOPBACK


@dataclass(frozen=True, slots=True)
class Credentials:
    """The credentials at a broker with authentication: its CA, and tokens and client certificates of two roles.

    Only `admin` is a superuser. A test grants `app` its permissions.
    """

    access: Access
    ca: Path
    tokens: Tokens
    superuser: Issued
    ordinary: Issued

    @classmethod
    def at(cls, folder: Path, access: Access) -> Self:
        """Return the folder's credentials: CA, certificates and keys are created once, tokens each time."""
        authority = Authority.at(folder / "pki")
        roles = []
        for role in (SUPERUSER, ORDINARY):
            issued = Issued(folder / f"pki/{role}.crt", folder / f"pki/{role}.key", authority.certificate)
            roles.append(issued if issued.certificate.exists() else authority.issue_client(role, "pulsar"))
        return cls(access, authority.certificate, Tokens.at(folder), *roles)


@dataclass(frozen=True, slots=True)
class Ports:
    """The ports of a broker for admin REST and clients, in the clear (the broker itself needs it) and over TLS."""

    admin: int
    service: int
    admin_tls: int
    service_tls: int


def write(setup: Setup, folder: Path, chosen: Ports) -> Credentials | None:
    """Write the inputs of the folder's broker. Return its credentials, None without authentication."""
    listening = {"bindAddress": setup.host, "advertisedAddress": setup.host}
    settings = {**_SMALL, **listening, "webServicePort": str(chosen.admin), "brokerServicePort": str(chosen.service)}
    credentials = None
    if setup.access is not Access.OPEN:
        credentials = Credentials.at(folder, setup.access)
        settings |= _secured(credentials, folder, chosen, setup.host)
    lines = "".join(f"{key}={value}\n" for key, value in {**settings, **setup.settings}.items())
    write_atomically(folder / "standalone.conf", lines)
    return credentials


def command(jars: Path, folder: Path, options: Sequence[str]) -> list[str]:
    """Return the broker's command line, after `write`, with those options of Java."""
    opens = [f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED]
    stored = ["--metadata-dir", str(folder / "metadata"), "--bookkeeper-dir", str(folder / "bookkeeper")]
    main = ["org.apache.pulsar.PulsarStandaloneStarter", "--config", str(folder / "standalone.conf")]
    return ["java", *_MEMORY, *_QUICK, *options, *opens, "-cp", f"{jars}/*", *main, *stored, "-nfw", "-nss"]


def _secured(credentials: Credentials, folder: Path, chosen: Ports, host: str) -> dict[str, str]:
    serving = Authority.at(folder / "pki").issue("broker", [ports.LOOPBACK, "localhost", host])
    has_certificates = credentials.access is Access.CERTIFICATE
    providers = ["Token", "Tls"] if has_certificates else ["Token"]  # the broker's own client has a token
    return {
        "webServicePortTls": str(chosen.admin_tls),
        "brokerServicePortTls": str(chosen.service_tls),
        "tlsCertificateFilePath": str(serving.certificate),
        "tlsKeyFilePath": str(_as_java_reads(serving.key)),
        "tlsTrustCertsFilePath": str(serving.ca),
        "tlsRequireTrustedClientCertOnConnect": str(has_certificates).lower(),
        "authenticationEnabled": "true",
        "authorizationEnabled": "true",
        "authenticationProviders": ",".join(
            f"org.apache.pulsar.broker.authentication.AuthenticationProvider{name}" for name in providers
        ),
        "tokenSecretKey": credentials.tokens.key.as_uri(),
        "superUserRoles": SUPERUSER,
        "brokerClientAuthenticationPlugin": "org.apache.pulsar.client.impl.auth.AuthenticationToken",
        "brokerClientAuthenticationParameters": f"token:{credentials.tokens.superuser}",
    }


def _as_java_reads(key: Path) -> Path:
    """Write the key as PKCS #8, the only form that the broker accepts, in a file beside it."""
    private = serialization.load_pem_private_key(key.read_bytes(), password=None)
    pem = private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    written = key.with_suffix(".pk8")
    write_atomically(written, pem.decode("ascii"))
    return written
