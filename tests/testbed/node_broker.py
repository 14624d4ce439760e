"""A broker that pods reach: one of our own outside of the node's room, through doors, or the one that is given.

Ours wants a token and speaks TLS; of the given one nothing is known but that it asks for neither.
"""

from dataclasses import dataclass
from typing import Self
from urllib.parse import urlsplit

from testbed import ports, pulsar, pulsar_part
from testbed.errors import SourceMissingError
from testbed.node import Node
from testbed.node_part import GivenNode
from testbed.node_room import ADDRESS
from testbed.pulsar import Pulsar
from testbed.pulsar_setup import Access, Setup


@dataclass(frozen=True, slots=True)
class NodeBroker:
    """The broker as this machine reaches it, and where pods do."""

    pulsar: Pulsar
    admin_url: str
    service_url: str

    @classmethod
    def start(cls, node: Node | GivenNode) -> Self:
        """One that hangs on the node's instance; SourceMissingError where pods of this node can reach none."""
        if isinstance(node, GivenNode):
            return cls._given()
        door = ports.free()
        made = pulsar.start(node.instance, "for-pods", Setup(access=Access.TOKEN, door=(ADDRESS, door)))
        admin = urlsplit(made.admin_url).port or 0
        return cls(made, f"https://{node.let_in(admin)}", f"pulsar+ssl://{node.let_in(door)}")

    @classmethod
    def _given(cls) -> Self:
        given = pulsar_part.given()
        if given is None:
            raise SourceMissingError("pods of a node that is not ours reach no broker of ours: set PULSAR_ADMIN_URL")
        return cls(given, given.admin_url, given.service_url)

    @property
    def host(self) -> str:
        """The host that pods call."""
        return urlsplit(self.admin_url).hostname or ""
