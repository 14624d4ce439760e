"""The strongly connected components of a directed graph, such as types that refer to each other."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TypeVar

_Node = TypeVar("_Node", bound=Hashable)


def components(successors: Mapping[_Node, Sequence[_Node]]) -> Iterator[list[_Node]]:
    """Yield each component once, after all components that it leads to (Tarjan's algorithm with an explicit stack).

    Every node must be a key of `successors`.
    """
    index: dict[_Node, int] = {}
    lowest: dict[_Node, int] = {}
    open_nodes: dict[_Node, None] = {}  # in discovery order; a node is removed with its component
    work: list[tuple[_Node, Iterator[_Node]]] = []

    def enter(node: _Node) -> None:
        index[node] = lowest[node] = len(index)
        open_nodes[node] = None
        work.append((node, iter(successors[node])))

    for start in successors:
        if start not in index:
            enter(start)
        while work:
            node, rest = work[-1]
            child = next((child for child in rest if child not in index or child in open_nodes), None)
            if child is not None and child not in index:
                enter(child)
            elif child is not None:
                lowest[node] = min(lowest[node], index[child])
            else:
                work.pop()
                before = work[-1][0] if work else node
                lowest[before] = min(lowest[before], lowest[node])
                yield from _leave(open_nodes, node) if lowest[node] == index[node] else ()


def _leave(open_nodes: dict[_Node, None], until: _Node) -> Iterator[list[_Node]]:
    """Remove `until` and all nodes after it from `open_nodes`, and yield them as one component."""
    component = []
    while until in open_nodes:
        component.append(open_nodes.popitem()[0])
    yield component
