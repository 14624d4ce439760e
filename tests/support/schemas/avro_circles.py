"""Random readers and writers with recursive records, for which Avro builds no grammar."""

import copy
import json
import random
from typing import Any

from support.schemas.avro_corners import records


class _Maker:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.names = "RSTU"[: rng.randint(2, 4)]
        self.known: list[str] = []

    def type(self, depth: int) -> Any:
        roll = self.rng.random()
        if depth <= 0 or roll < 0.15:
            return self.rng.choice(self.known) if self.rng.random() < 0.7 else "int"
        if roll < 0.40:
            return self.record(depth)
        if roll < 0.58:
            return {"type": "array", "items": self.type(depth - 1)}
        if roll < 0.73:
            return {"type": "map", "values": self.type(depth - 1)}
        inner = self.record(depth - 1)
        return self.rng.choice((["null", inner], [inner, "null"]))

    def record(self, depth: int) -> Any:
        name = self.rng.choice(self.names)
        if name in self.known:
            return name
        self.known.append(name)
        names = self.rng.sample("abcd", self.rng.randint(1, 3))
        fields = [{"name": each, "type": self.type(depth - 1)} for each in names]
        return {"type": "record", "name": name, "fields": fields}


def pair(rng: random.Random) -> tuple[str, str]:
    """Return the texts of a reader and a writer: a schema, and the schema after an edit or two."""
    first = _Maker(rng).record(6)
    second = copy.deepcopy(first)
    for _ in range(rng.randint(0, 2)):
        _edit(rng, second)
    texts = json.dumps(first), json.dumps(second)
    return texts if rng.random() < 0.5 else texts[::-1]


def _edit(rng: random.Random, schema: Any) -> None:
    fields = rng.choice(records(schema))["fields"]
    name = rng.choice(records(schema))["name"]
    roll = rng.random()
    if roll < 0.3:
        rng.shuffle(fields)
    elif roll < 0.5:
        fields.insert(0, {"name": "z", "type": ["null", name], "default": None})
    elif roll < 0.6:
        fields.insert(0, {"name": "y", "type": {"type": "array", "items": name}, "default": []})
    elif roll < 0.8 and len(fields) > 1:
        fields.pop()
    else:
        fields.append({"name": "i", "type": "int", "default": 1})
