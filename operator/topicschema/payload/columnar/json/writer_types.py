"""What the writer's schema has at a place of the reader's: which fields a message may have that its reader drops."""

from collections.abc import Iterable
from typing import Final

from topicschema.core.formats.avro.model import Array, Map, Node, Primitive, Record, Union
from topicschema.payload.path import Step

Nodes = frozenset[Node]
"""The types that a value may have been written as."""

NONE: Final[Nodes] = frozenset()


def of(node: Node) -> Nodes:
    """The types of a node: its branches, where it is a union. Null, which has nothing to drop, is none."""
    branches = node.branches if isinstance(node, Union) else (node,)
    return frozenset(each for each in branches if not isinstance(each, Primitive) or each.kind != "null")


def names(nodes: Nodes) -> frozenset[str]:
    """The fields that a record may have been written with."""
    return frozenset(field.name for node in nodes if isinstance(node, Record) for field in node.fields)


def field(nodes: Nodes, name: str) -> Nodes:
    """The types of a record's field."""
    return _joined(each.type for node in nodes if isinstance(node, Record) for each in node.fields if each.name == name)


def items(nodes: Nodes) -> Nodes:
    """The types of an array's items."""
    return _joined(node.items for node in nodes if isinstance(node, Array))


def values(nodes: Nodes) -> Nodes:
    """The types of a map's values."""
    return _joined(node.values for node in nodes if isinstance(node, Map))


def within(nodes: Nodes, steps: Iterable[Step]) -> Nodes:
    """The types of what lies at the end of a way."""
    for step in steps:
        if isinstance(step, str):
            nodes = field(nodes, step)
        else:
            nodes = items(nodes) if isinstance(step, int) else values(nodes)
    return nodes


def _joined(nodes: Iterable[Node]) -> Nodes:
    return frozenset(branch for node in nodes for branch in of(node))
