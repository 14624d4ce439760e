"""Arrays, maps and fixed: what they hold, and which of a reader reads them."""

from topicschema.core.formats.avro.model import Array, Fixed, Map, Node, Union
from topicschema.core.formats.avro.resolution.findings import Fault, Rule


def element(node: Array | Map) -> Node:
    """What an array's items or a map's values are."""
    return node.items if isinstance(node, Array) else node.values


def first_alike(writer: Node, reader: Node) -> Node | Fault:
    """The reader, or its union's branch, of the writer's kind."""
    if reader.__class__ is writer.__class__:
        return reader
    if reader.__class__ is not Union:
        return Fault(Rule.TYPE_MISMATCH, reader, writer)
    for branch in reader.branches:
        if branch.__class__ is writer.__class__:
            return branch
    return Fault(Rule.NO_UNION_BRANCH, reader, writer)


def other_size(writer: Node, reader: Node) -> Fault | None:
    """The fault of two fixed types of one name that have not the same size."""
    if isinstance(writer, Fixed) and isinstance(reader, Fixed) and writer.size != reader.size:
        return Fault(Rule.FIXED_SIZE, reader, writer)
    return None
