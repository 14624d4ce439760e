"""JSON Web Tokens as Pulsar takes them (HS256), for the roles of a testbed broker."""

import base64
import hashlib
import hmac
import json
import secrets
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from testbed.paths import write_atomically

SUPERUSER = "admin"
ORDINARY = "app"
_DAY = 24 * 3600


@dataclass(frozen=True, slots=True)
class Tokens:
    """A signing key's file, and tokens: a superuser's, an ordinary role's, and one of the superuser that expired."""

    key: Path
    superuser: str
    ordinary: str
    expired: str

    @classmethod
    def at(cls, folder: Path) -> Self:
        """Fresh tokens; the key is the folder's, made if there is none yet."""
        key = folder / "token.key"
        if not key.exists():
            write_atomically(key, secrets.token_hex(32))
        now = int(time.time())
        return cls(
            key=key,
            superuser=sign(key, SUPERUSER, now + _DAY),
            ordinary=sign(key, ORDINARY, now + _DAY),
            expired=sign(key, SUPERUSER, now - _DAY),
        )


def sign(key: Path, role: str, expires: int) -> str:
    """Return a token for the role that is valid until that second of the epoch."""
    signed = f"{_encoded({'alg': 'HS256', 'typ': 'JWT'})}.{_encoded({'sub': role, 'exp': expires})}"
    return f"{signed}.{_base64(hmac.digest(key.read_bytes(), signed.encode(), hashlib.sha256))}"


def _encoded(part: dict[str, str | int]) -> str:
    return _base64(json.dumps(part).encode())


def _base64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode("ascii")
