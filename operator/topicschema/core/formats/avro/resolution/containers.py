"""Arrays, maps and fixed: their elements, and the reader's types that read them."""

from topicschema.core.formats.avro.model import Array, Fixed, Map, Node, Union
from topicschema.core.formats.avro.resolution.findings import Fault, Rule


def element(node: Array | Map) -> Node:
    """Return the type of an array's items or of a map's values."""
    return node.items if isinstance(node, Array) else node.values


def first_alike(writer: Node, reader: Node) -> Node | Fault:
    """Return the reader, or the first branch of its union, of the writer's kind. Return a Fault if there is none."""
    if reader.__class__ is writer.__class__:
        return reader
    if reader.__class__ is not Union:
        return Fault(Rule.TYPE_MISMATCH, reader, writer)
    for branch in reader.branches:
        if branch.__class__ is writer.__class__:
            return branch
    return Fault(Rule.NO_UNION_BRANCH, reader, writer)


def other_size(writer: Node, reader: Node) -> Fault | None:
    """Return the fault of two fixed types of one name that differ in size, or None."""
    if isinstance(writer, Fixed) and isinstance(reader, Fixed) and writer.size != reader.size:
        return Fault(Rule.FIXED_SIZE, reader, writer)
    return None
