"""An object store that the pods of a node reach, with the keys that a metadata service serves them."""

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
from testbed.instance_metadata import ADDRESS as METADATA_ADDRESS
from testbed.kind import Node
from testbed.product import wait_until_listening

_GROUP = 1_000
_REDIRECT = """table ip identity {{
  chain to_identity {{
    type nat hook prerouting priority dstnat
    {}
  }}
}}"""


@dataclass(frozen=True, slots=True)
class PodStore:
    """The store, whose requests must be signed. `identity` is the port of the service that serves the keys."""

    node: Node
    store: ObjectStore
    identity: int

    @classmethod
    def start(cls, node: Node, folder: Path) -> Self:
        """Start a store of the folder's files. It ends with the node."""
        host, identity = node.address, ports.free()
        store = ObjectStore.start(node.instance, folder, host)
        arguments = (host, str(identity), store.key, store.secret)
        python = {"PYTHONPATH": str(Path(__file__).parents[2])}
        node.instance.run(
            f"instance-metadata-{identity}", [sys.executable, "-m", "testbed.instance_metadata", *arguments], python
        )
        wait_until_listening(identity, host)
        return cls(node, store, identity)

    @contextmanager
    def serve_credentials(self) -> Iterator[None]:
        """Serve the keys to the node's pods while the context lasts, as a cloud does."""
        rule = f"ip daddr {METADATA_ADDRESS} tcp dport 80 dnat to {self.node.address}:{self.identity}"
        self.node.inside("nft", "-f", "-", stdin=_REDIRECT.format(rule))
        try:
            yield
        finally:
            self.node.inside("nft", "delete", "table", "ip", "identity")

    def put(self, path: str, parts: Sequence[tuple[Sequence[Message], int]]) -> None:
        """Write a Parquet file with that number of messages of each part, repeated."""
        rows = [part[number % len(part)] for part, count in parts for number in range(count)]
        columns = {
            "value": pa.array([payload for _, payload in rows], pa.binary()),
            "schema_version": pa.array([version for version, _ in rows], pa.int64()),
        }
        buffer = pa.BufferOutputStream()
        parquet.write_table(pa.table(columns), buffer, row_group_size=_GROUP)
        self.store.put(path, buffer.getvalue().to_pybytes())
