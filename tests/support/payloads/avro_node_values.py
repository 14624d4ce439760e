"""Random values of parsed Avro schemas, also of those that refer to themselves."""

import random
from collections.abc import Callable
from typing import Any

from topicschema.core.formats.avro.model import Array, Enum, Fixed, Map, Node, Primitive, Record, Union

_MAKERS: dict[str, Callable[[random.Random], Any]] = {
    "null": lambda rng: rng.choice((None,)),
    "boolean": lambda rng: rng.random() < 0.5,
    "int": lambda rng: rng.choice((0, -1, 2**31 - 1, -(2**31), 16_777_217)),
    "long": lambda rng: rng.choice((0, -1, 2**63 - 1, -(2**63), 2**53 + 1, 9_007_199_791_611_905, 16_777_217)),
    "float": lambda rng: rng.choice((0.0, -0.0, 1.5, float("inf"), -3.25)),
    "double": lambda rng: rng.choice((0.0, -0.0, 0.1, 1e300, float("-inf"))),
    "bytes": lambda rng: rng.choice((b"", b"text", b"\xc3\xa9", b"\xff")),
    "string": lambda rng: rng.choice(("", "text", "é")),
}


def value(rng: random.Random, node: Node, depth: int = 6) -> Any:
    """Return a value. Raise RecursionError if no value ends."""
    if depth < -3:
        raise RecursionError
    if isinstance(node, Union):
        flat = [branch for branch in node.branches if isinstance(branch, Primitive)]
        return value(rng, rng.choice(flat if flat and depth < 1 else node.branches), depth)
    if isinstance(node, Record):
        return {field.name: value(rng, field.type, depth - 1) for field in node.fields}
    if isinstance(node, Array):
        return [value(rng, node.items, depth - 1) for _ in range(rng.randint(0, 2) if depth > 0 else 0)]
    if isinstance(node, Map):
        return {key: value(rng, node.values, depth - 1) for key in ("k", "")[: rng.randint(0, 2) if depth > 0 else 0]}
    if isinstance(node, Enum):
        return rng.choice(node.symbols)
    return rng.randbytes(node.size) if isinstance(node, Fixed) else _MAKERS[node.kind](rng)  # type: ignore[attr-defined]
