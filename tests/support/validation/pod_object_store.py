"""An object store that the pods of a node reach, which lets in who the node is known as, and what is put there."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import pyarrow as pa
from pyarrow import parquet

from support.validation.object_store import ObjectStore
from support.validation.topic_filling import Message
from testbed import ports
from testbed.instance_metadata import ADDRESS as TELLS
from testbed.kind import Node
from testbed.product import wait_until_listening

_GROUP = 1_000
_ASKED = """table ip identity {{
  chain asked {{
    type nat hook prerouting priority dstnat
    {}
  }}
}}"""


@dataclass(frozen=True, slots=True)
class PodStore:
    """The store, whose requests must be signed; `identity` is the port at which pods could be told by what keys."""

    node: Node
    store: ObjectStore
    identity: int

    @classmethod
    def start(cls, node: Node, folder: Path) -> Self:
        """A store of what comes in the folder; it ends with the node."""
        host, identity = node.address, ports.free()
        store = ObjectStore.start(node.instance, folder, host)
        told = (host, str(identity), store.key, store.secret)
        python = {"PYTHONPATH": str(Path(__file__).parents[2])}
        node.instance.run("instance-metadata", [sys.executable, "-m", "testbed.instance_metadata", *told], python)
        wait_until_listening(identity, host)
        return cls(node, store, identity)

    def uri(self, path: str) -> str:
        """Return what a bucket and a path in it are called by pods."""
        return self.store.uri(path)

    @contextmanager
    def known(self) -> Iterator[None]:
        """While it lasts the node tells its pods who it is, as a cloud's does."""
        there = f"ip daddr {TELLS} tcp dport 80 dnat to {self.node.address}:{self.identity}"
        self.node.inside("nft", "-f", "-", stdin=_ASKED.format(there))
        try:
            yield
        finally:
            self.node.inside("nft", "delete", "table", "ip", "identity")

    def put(self, path: str, parts: Sequence[tuple[Sequence[Message], int]]) -> None:
        """A Parquet file with so many messages of each part, over and over."""
        rows = [part[number % len(part)] for part, count in parts for number in range(count)]
        columns = {
            "value": pa.array([payload for _, payload in rows], pa.binary()),
            "schema_version": pa.array([version for version, _ in rows], pa.int64()),
        }
        buffer = pa.BufferOutputStream()
        parquet.write_table(pa.table(columns), buffer, row_group_size=_GROUP)
        self.store.put(path, buffer.getvalue().to_pybytes())
