"""A store of the S3 protocol for tests, with one user."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from testbed import ports
from testbed.instances import Instance
from testbed.product import wait_until_listening


@dataclass(frozen=True, slots=True)
class ObjectStore:
    """The store; its buckets are folders in `folder`."""

    port: int
    folder: Path
    host: str = ports.LOOPBACK
    key: str = "AKREADER"
    secret: str = "s3cret-of-the-reader"  # noqa: S105  # of a store on loopback

    @classmethod
    def start(cls, instance: Instance, folder: Path, host: str = ports.LOOPBACK) -> Self:
        """Start a store of the folder's files at that address. It ends with the instance."""
        store = cls(ports.free(), folder, host)
        arguments = (host, str(store.port), str(folder), store.key, store.secret)
        instance.run(f"object-store-{store.port}", [sys.executable, "-m", "testbed.object_store", *arguments])
        wait_until_listening(store.port, host)
        return store

    @property
    def environment(self) -> dict[str, str]:
        """The environment of a program that may read."""
        return {
            "AWS_ACCESS_KEY_ID": self.key,
            "AWS_SECRET_ACCESS_KEY": self.secret,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def uri(self, path: str) -> str:
        """Return the URI of a bucket and a path in it."""
        return f"s3://{path}?scheme=http&endpoint_override={self.host}:{self.port}"

    def put(self, path: str, content: bytes) -> None:
        """Write an object, with its bucket."""
        place = self.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
