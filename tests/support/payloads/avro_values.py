"""Schemas and values of them, by the seed, that have one encoding: no two branches of a union take the same value."""

from random import Random
from typing import Any

from support.schemas.avro_schemas import PRIMITIVES

_VALUES: dict[str, tuple[Any, ...]] = {
    "null": (None,),
    "boolean": (True, False),
    "int": (-(2**31), -65, -1, 0, 63, 64, 2**31 - 1),
    "long": (-(2**63), 0, 2**40, 2**63 - 1),
    "float": (0.0, -0.0, 1.5, -65536.25),
    "double": (0.0, 1e300, 5e-324),
    "bytes": (b"", b"text", b"\xff\x00"),
    "string": ("", "text", "é\U0001f600\x00"),
}
_UNIONS = (["null", "int"], ["string", "null"], ["boolean", "double", "bytes"], ["null", "long", "string"])


def schema(random: Random) -> Any:
    """Return a record."""
    return _Maker(random).record(3)


class _Maker:
    def __init__(self, random: Random) -> None:
        self._random = random
        self._count = 0

    def type(self, depth: int) -> Any:
        if depth == 0 or self._random.random() < 0.35:
            return self._random.choice((*PRIMITIVES, *_UNIONS))
        return self._random.choice((self.record, self._array, self._map, self._nullable, self._enum, self._fixed))(
            depth - 1
        )

    def record(self, depth: int) -> dict[str, Any]:
        names = self._random.sample("abcdef", self._random.randint(0, 4))
        fields = [{"name": name, "type": self.type(depth)} for name in names]
        return {"type": "record", "name": self._name(), "fields": fields}

    def _name(self) -> str:
        self._count += 1
        return f"N{self._count}"

    def _array(self, depth: int) -> Any:
        return {"type": "array", "items": self.type(depth)}

    def _map(self, depth: int) -> Any:
        return {"type": "map", "values": self.type(depth)}

    def _nullable(self, depth: int) -> Any:
        return ["null", self.record(depth)]

    def _enum(self, _: int) -> Any:
        return {"type": "enum", "name": self._name(), "symbols": ["A", "B", "C"]}

    def _fixed(self, _: int) -> Any:
        return {"type": "fixed", "name": self._name(), "size": self._random.choice((0, 1, 4))}


def value(random: Random, of: Any) -> Any:
    """Return a value of the schema."""
    if isinstance(of, list):
        return value(random, random.choice(of))
    kind = of["type"] if isinstance(of, dict) else of
    if kind == "record":
        return {field["name"]: value(random, field["type"]) for field in of["fields"]}
    if kind == "array":
        return [value(random, of["items"]) for _ in range(random.randint(0, 3))]
    if kind == "map":
        return {key: value(random, of["values"]) for key in random.sample(("", "k", "é"), random.randint(0, 3))}
    if kind == "fixed":
        return random.randbytes(of["size"])
    return random.choice(("A", "B", "C") if kind == "enum" else _VALUES[kind])
