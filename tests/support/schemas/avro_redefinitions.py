"""Readers and writers whose records are defined again within themselves, which Avro 1.12 accepts, by the seed."""

import copy
import json
import random
from collections.abc import Iterator, Sequence
from typing import Any

_Place = tuple[Any, Any, tuple[dict[str, Any], ...]]
"""The container of a type, the key or index in it, and the records that contain the type."""


class _Maker:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.open: list[str] = []
        self.known: list[str] = []

    def type(self, depth: int) -> Any:
        rng, roll = self.rng, self.rng.random()
        if depth <= 0 or roll < 0.3:
            return rng.choice(self.known) if rng.random() < 0.8 else rng.choice(("int", "string"))
        if roll < 0.55:
            return self.record(depth)
        if roll < 0.62:
            self.known.append("E")
            return {"type": "enum", "name": "E", "symbols": ["a", rng.choice("bbbc")]}
        inner = self.type(depth - 1)
        wrapped = {"type": "array", "items": inner}, {"type": "map", "values": inner}
        return rng.choice((*wrapped, ["null", inner] if not isinstance(inner, list) else inner))

    def record(self, depth: int) -> Any:
        free = [name for name in "RST" if name not in self.known]
        name = self.rng.choice((*self.open, *free))
        self.open.append(name)
        self.known.append(name)
        names = self.rng.sample("abc", self.rng.choice((0, 1, 1, 1, 2, 2)))
        fields = [{"name": each, "type": self.type(depth - 1)} for each in names]
        made = {"type": "record", "name": name, "fields": fields}
        if self.rng.random() < 0.05:
            made["x"] = self.rng.choice("12")
        self.open.pop()
        return made


def pair(rng: random.Random) -> tuple[str, str]:
    """Return the texts of a reader and a writer: one schema, unrolled in places, and sometimes edited."""
    first = _Maker(rng).record(5)
    second = copy.deepcopy(first)
    for each in (first, second, second):
        for _ in range(rng.randint(0, 2)):
            _unroll(rng, each)
    if rng.random() < 0.4:
        _edit(rng, second)
    texts = json.dumps(first), json.dumps(second)
    return texts if rng.random() < 0.5 else texts[::-1]


def _unroll(rng: random.Random, schema: Any) -> None:
    """Put the definition of a record in the place of its name, within the record."""
    places = [
        (holder, key, outer, each)
        for holder, key, outer in _places(schema, ())
        for each in outer
        if holder[key] == each["name"]
    ]
    if places:
        holder, key, outer, record = rng.choice(places)
        holder[key] = _without_others(copy.deepcopy(record), [each["name"] for each in outer])


def _without_others(record: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Put names in the place of the records that may not be defined here again."""
    for holder, key, _ in list(_places(record, ())):
        inner = holder[key]
        if isinstance(inner, dict) and "fields" in inner and inner["name"] not in names:
            holder[key] = inner["name"]
    return record


def _edit(rng: random.Random, schema: Any) -> None:
    places = list(_places(schema, ()))
    roll = rng.random()
    if roll < 0.3 and places:
        holder, key, _ = rng.choice(places)
        holder[key] = rng.choice(("int", "R", {"type": "array", "items": "R"}))
        return
    records = [outer[-1] for *_, outer in places] or [schema]
    fields = rng.choice(records)["fields"]
    if roll < 0.5:
        rng.shuffle(fields)
    elif roll < 0.7 and fields:
        fields.pop()
    elif roll < 0.9:
        fields.append({"name": "z", "type": rng.choice(("int", ["null", "R"])), "default": None})
    else:
        rng.choice(records)["x"] = "1"


def _places(node: Any, outer: tuple[dict[str, Any], ...]) -> Iterator[_Place]:
    """Return all places of types, outer ones first."""
    if isinstance(node, list):
        inner: list[tuple[Any, Any]] = [(node, index) for index in range(len(node))]
    elif not isinstance(node, dict):
        return
    elif "fields" in node:
        outer = (*outer, node)
        inner = [(field, "type") for field in node["fields"]]
    else:
        inner = [(node, key) for key in ("items", "values") if key in node]
    for holder, key in inner:
        yield holder, key, outer
        yield from _places(holder[key], outer)
