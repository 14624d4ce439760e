"""The coarsest partition of a graph's nodes into classes that nothing distinguishes (Hopcroft's algorithm)."""

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def partition(colors: Mapping[T, str], successors: Mapping[T, Sequence[T]]) -> dict[T, int]:
    """Return the class of each node: those of one class have the same color, and successors of the same classes.

    Successors are compared in order; nodes of one color have as many of them. The numbers of the classes depend on
    nothing but colors, edges and the sizes of classes. The steps grow with the edges times the logarithm of the nodes.
    """
    numbers = {color: number for number, color in enumerate(sorted(set(colors.values())))}
    class_of = {node: numbers[color] for node, color in colors.items()}
    members: list[set[T]] = [set() for _ in numbers]
    for node, number in class_of.items():
        members[number].add(node)
    behind = _behind(successors)
    waiting = list(range(len(members)))
    while waiting:
        parts = _parts(members[waiting.pop()], behind, class_of)
        for number in sorted(parts):
            for part in _smaller(members[number], parts[number]):
                members[number] -= part
                class_of.update(dict.fromkeys(part, len(members)))
                waiting.append(len(members))
                members.append(part)
    return class_of


def _behind(successors: Mapping[T, Sequence[T]]) -> dict[T, list[tuple[T, int]]]:
    """Return the predecessors of each node, each with the position at which it has the node."""
    behind: dict[T, list[tuple[T, int]]] = {}
    for node, ahead in successors.items():
        for position, successor in enumerate(ahead):
            behind.setdefault(successor, []).append((node, position))
    return behind


def _parts(
    some: set[T], behind: Mapping[T, list[tuple[T, int]]], class_of: Mapping[T, int]
) -> dict[int, dict[tuple[int, ...], set[T]]]:
    """Return for each class those of its members that lead to `some`, by the positions at which they do."""
    positions: dict[T, list[int]] = {}
    for node in some:
        for before, position in behind.get(node, ()):
            positions.setdefault(before, []).append(position)
    parts: dict[int, dict[tuple[int, ...], set[T]]] = {}
    for node, indexes in positions.items():
        parts.setdefault(class_of[node], {}).setdefault(tuple(sorted(indexes)), set()).add(node)
    return parts


def _smaller(whole: set[T], parts: dict[tuple[int, ...], set[T]]) -> list[set[T]]:
    """Return all parts of a class but the largest; its members in none of `parts` are a part, too."""
    rest = len(whole) - sum(map(len, parts.values()))
    if rest > max(map(len, parts.values())):
        return [parts[key] for key in sorted(parts)]
    if rest:
        parts[()] = whole.difference(*parts.values())
    largest = max(sorted(parts), key=lambda key: len(parts[key]))
    return [parts[key] for key in sorted(parts) if key != largest]
