"""Number of uses of each record in a schema: a record with one use is read inline, others are called."""

from collections.abc import Iterable

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
                ahead += [field.type for field in node.fields]
        elif kind is Union or kind is Array or kind is Map:
            ahead += _parts(node)
    return counts


def _parts(node: Node) -> Iterable[Node]:
    if isinstance(node, Union):
        return node.branches
    return (node.items,) if isinstance(node, Array) else (node.values,) if isinstance(node, Map) else ()
