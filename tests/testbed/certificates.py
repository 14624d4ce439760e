"""Certificates: a CA of the testbed's own, and what it signs. ECDSA P-256, PEM files, keys for their owner only."""

import datetime as dt
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from testbed.paths import write_atomically

_LIFETIME = dt.timedelta(days=365)


@dataclass(frozen=True, slots=True)
class Issued:
    """A certificate, its key, and the bundle that vouches for it: three PEM files."""

    certificate: Path
    key: Path
    ca: Path


@dataclass(frozen=True, slots=True)
class Authority:
    """A certificate authority in a folder (ca.crt, ca.key)."""

    folder: Path

    @classmethod
    def at(cls, folder: Path) -> Self:
        """The authority of the folder, made if there is none yet."""
        authority = cls(folder)
        if not authority.certificate.exists():
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            key = write_key(folder / "ca.key")
            name = _name(f"testbed CA {folder.name}", None)
            builder = _builder(name, name, key).add_extension(
                x509.BasicConstraints(ca=True, path_length=0), critical=True
            )
            _write_certificate(authority.certificate, builder.sign(key, hashes.SHA256()))
        return authority

    @property
    def certificate(self) -> Path:
        """The CA's own certificate."""
        return self.folder / "ca.crt"

    def issue(self, name: str, hosts: Sequence[str], lifetime: dt.timedelta = _LIFETIME) -> Issued:
        """A fresh serving certificate for the host names and addresses, as NAME.crt and NAME.key.

        It began five minutes ago: with a shorter lifetime it has expired.
        """
        alternatives = x509.SubjectAlternativeName([_host(host) for host in hosts])
        return self._sign(name, _name(name, None), alternatives, lifetime)

    def issue_client(self, name: str, group: str) -> Issued:
        """A fresh client certificate: to Kubernetes, the user `name` in the group."""
        return self._sign(name, _name(name, group), None, _LIFETIME)

    def _sign(
        self,
        name: str,
        subject: x509.Name,
        alternatives: x509.SubjectAlternativeName | None,
        lifetime: dt.timedelta,
    ) -> Issued:
        """Sign for a server with those names, for a client where there are none."""
        usage = ExtendedKeyUsageOID.CLIENT_AUTH if alternatives is None else ExtendedKeyUsageOID.SERVER_AUTH
        issuer = x509.load_pem_x509_certificate(self.certificate.read_bytes())
        issuer_key = serialization.load_pem_private_key((self.folder / "ca.key").read_bytes(), password=None)
        if not isinstance(issuer_key, ec.EllipticCurvePrivateKey):
            raise TypeError("the CA's key is of another kind")
        issued = Issued(self.folder / f"{name}.crt", self.folder / f"{name}.key", self.certificate)
        key = write_key(issued.key)
        builder = _builder(subject, issuer.subject, key, lifetime)
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        builder = builder.add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False
        )
        if alternatives is not None:
            builder = builder.add_extension(alternatives, critical=False)
        _write_certificate(issued.certificate, builder.sign(issuer_key, hashes.SHA256()))
        return issued


def write_key(path: Path) -> ec.EllipticCurvePrivateKey:
    """A fresh key, written to `path`."""
    key = ec.generate_private_key(ec.SECP256R1())
    encoded = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    write_atomically(path, encoded.decode("ascii"))
    return key


def _write_certificate(path: Path, certificate: x509.Certificate) -> None:
    write_atomically(path, certificate.public_bytes(serialization.Encoding.PEM).decode("ascii"), 0o644)


def _name(common: str, organization: str | None) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.COMMON_NAME, common)]
    if organization is not None:
        attributes.append(x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization))
    return x509.Name(attributes)


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, lifetime: dt.timedelta = _LIFETIME
) -> x509.CertificateBuilder:
    start = dt.datetime.now(dt.UTC) - dt.timedelta(minutes=5)  # clocks differ
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + lifetime)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
