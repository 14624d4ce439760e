"""Number of uses of each record in a schema: a record with one use is read inline, others are called."""

from topicschema.core.formats.avro.model import Array, Map, Node, Record, Union


def counted(root: Node) -> dict[Record, int]:
    """Return the records, each with its number of uses. The root counts as one."""
    counts: dict[Record, int] = {}
    ahead = [root]
    while ahead:
        node = ahead.pop()
        kind = node.__class__
        if isinstance(node, Record):
            if node in counts:
                counts[node] += 1
            else:
                counts[node] = 1
                ahead += node.children
        elif kind is Union or kind is Array or kind is Map:
            ahead += node.children
    return counts
