"""Arrays of doubles, whose values Avro 1.12.0 stores as floats (PrimitivesArrays in GenericDatumReader)."""

from topicschema.core.formats.avro.avro_version import Library
from topicschema.core.formats.avro.model import Array, Node, Primitive, Record


def is_array_of_doubles(node: Node) -> bool:
    """Return True for an array whose items are doubles, and no union."""
    return isinstance(node, Array) and isinstance(node.items, Primitive) and node.items.kind == "double"


def stored_as_floats(root: Node, library: Library) -> list[str]:
    """Return the paths of the arrays of doubles that the library stores as floats, in the schema's order."""
    paths: list[str] = []
    visited: set[Record] = set()
    ahead = [root] if library.stores_doubles_as_floats else []
    while ahead:
        node = ahead.pop()
        if isinstance(node, Record):
            if node in visited:
                continue
            visited.add(node)
        if is_array_of_doubles(node):
            paths.append(node.path)
        ahead += reversed(node.children)
    return paths
