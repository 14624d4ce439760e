"""Types of the writer's schema at a place of the reader's, with the fields that the reader may drop."""

from collections.abc import Iterable
from typing import Final

from topicschema.core.formats.avro.model import Array, Map, Node, Primitive, Record, Union
from topicschema.payload.path import PathStep

Nodes = frozenset[Node]
"""Types that a value may have been written as."""

NONE: Final[Nodes] = frozenset()


def of(node: Node) -> Nodes:
    """Return the types of a node: its branches if it is a union. Null has nothing to drop and is left out."""
    branches = node.branches if isinstance(node, Union) else (node,)
    return frozenset(each for each in branches if not isinstance(each, Primitive) or each.kind != "null")


def names(nodes: Nodes) -> frozenset[str]:
    """Return the fields that a record may have been written with."""
    return frozenset(field.name for node in nodes if isinstance(node, Record) for field in node.fields)


def field(nodes: Nodes, name: str) -> Nodes:
    """Return the types of a record's field."""
    return _joined(each.type for node in nodes if isinstance(node, Record) for each in node.fields if each.name == name)


def items(nodes: Nodes) -> Nodes:
    """Return the types of an array's items."""
    return _joined(node.items for node in nodes if isinstance(node, Array))


def values(nodes: Nodes) -> Nodes:
    """Return the types of a map's values."""
    return _joined(node.values for node in nodes if isinstance(node, Map))


def within(nodes: Nodes, steps: Iterable[PathStep]) -> Nodes:
    """Return the types at the end of a path."""
    for step in steps:
        if isinstance(step, str):
            nodes = field(nodes, step)
        else:
            nodes = items(nodes) if isinstance(step, int) else values(nodes)
    return nodes


def _joined(nodes: Iterable[Node]) -> Nodes:
    return frozenset(branch for node in nodes for branch in of(node))
