"""Certificates: a CA of the testbed's own, and what it signs. PEM files, keys for their owner only."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import trustme

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
        """Return the authority of the folder. Create it if there is none."""
        authority = cls(folder)
        if not authority.certificate.exists():
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            ca = trustme.CA()
            _write(authority.key, ca.private_key_pem)
            _write(authority.certificate, ca.cert_pem, 0o644)
        return authority

    @property
    def certificate(self) -> Path:
        """The CA's own certificate."""
        return self.folder / "ca.crt"

    @property
    def key(self) -> Path:
        """The key that it signs with."""
        return self.folder / "ca.key"

    def issue(self, name: str, hosts: Sequence[str], lifetime: dt.timedelta = _LIFETIME) -> Issued:
        """Issue a certificate for the host names and addresses, as NAME.crt and NAME.key.

        Its validity began five minutes ago: with a shorter lifetime it has expired.
        """
        return self._issue(name, hosts, lifetime)

    def issue_client(self, name: str, group: str) -> Issued:
        """Issue a client certificate, in Kubernetes the user `name` of the group."""
        return self._issue(name, [name], _LIFETIME, group)  # Go takes no empty list of names from trustme

    def _issue(self, name: str, hosts: Sequence[str], lifetime: dt.timedelta, group: str | None = None) -> Issued:
        start = dt.datetime.now(dt.UTC) - dt.timedelta(minutes=5)  # clocks differ
        ca = trustme.CA.from_pem(self.certificate.read_bytes(), self.key.read_bytes())
        leaf = ca.issue_cert(
            *hosts, common_name=name, organization_name=group, not_before=start, not_after=start + lifetime
        )
        issued = Issued(self.folder / f"{name}.crt", self.folder / f"{name}.key", self.certificate)
        _write(issued.key, leaf.private_key_pem)
        _write(issued.certificate, leaf.cert_chain_pems[0], 0o644)
        return issued


def _write(path: Path, pem: trustme.Blob, mode: int = 0o600) -> None:
    write_atomically(path, pem.bytes().decode("ascii"), mode)
