"""Random readers and writers for the rules of reading: few names, many references, unions of several records.

`avro_schemas` tests corners of the notation, this module corners of resolution: recursive records, branches chosen by
structure, aliases, promotions, defaults at their limits. All texts are valid, except a few whose names clash after an
edit.
"""

import copy
import json
import random
from typing import Any

from support.schemas.avro_corners import objects

PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
PROMOTED = {
    "int": ("long", "float", "double"),
    "long": ("float", "double"),
    "float": ("double",),
    "bytes": ("string",),
    "string": ("bytes",),
}
_RECORDS = ("R", "S", "T", "n.R", "n.S", "m.S")
_FIELDS = ("a", "b", "c", "d")
_VALUES: dict[str, tuple[Any, ...]] = {
    "null": (None,),
    "boolean": (True, False),
    "int": (0, 7),
    "long": (0, 2**40),
    "float": (0, 1.5, "NaN"),
    "double": (0, 1.5),
    "bytes": ("", "ÿ"),
    "string": ("", "x"),
}
_ODD = (None, True, 1, 1.5, "x", [], [1], {}, {"a": 1})


class _Maker:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.known: list[str] = []
        self.made: dict[str, Any] = {}

    def type(self, depth: int) -> Any:
        roll = self.rng.random()
        if depth <= 0:
            return self.rng.choice(self.known) if self.known and roll < 0.3 else self.rng.choice(PRIMITIVES)
        if roll < 0.25:
            return self.rng.choice(PRIMITIVES)
        if roll < 0.60:
            return self.union(depth - 1)
        if roll < 0.85:
            return self.named(depth)
        kind, inner = self.rng.choice((("array", "items"), ("map", "values")))
        return {"type": kind, inner: self.type(depth - 1)}

    def named(self, depth: int) -> Any:
        """Return a record, an enum or a fixed; its name if it is already defined."""
        name = self.rng.choice(_RECORDS) if self.rng.random() < 0.8 else self.rng.choice(("E", "n.E", "F", "n.F"))
        if name in self.known:
            return name
        self.known.append(name)
        made: dict[str, Any] = {"type": "record", "name": name, "namespace": ""}
        if name[-1] == "E":
            made |= {"type": "enum", "symbols": self.rng.sample(("A", "B", "C"), self.rng.randint(1, 3))}
            if self.rng.random() < 0.4:
                made["default"] = self.rng.choice(made["symbols"])
        elif name[-1] == "F":
            made |= {"type": "fixed", "size": self.rng.choice((1, 2))}
        else:
            names = self.rng.sample(_FIELDS, self.rng.randint(0, 3))
            made["fields"] = [self.field(each, depth - 1) for each in names]
        if self.rng.random() < 0.06:
            made["aliases"] = self.rng.sample((*_RECORDS, "E", "F"), self.rng.randint(1, 2))
        self.made[name] = made
        return made

    def union(self, depth: int) -> list[Any]:
        branches: dict[str, Any] = {"null": "null"} if self.rng.random() < 0.4 else {}
        for _ in range(self.rng.randint(0, 3)):
            branch = self.named(depth) if self.rng.random() < 0.6 else self.type(0)
            name = branch if isinstance(branch, str) else branch["name"]
            branches.setdefault(name, branch)
        return list(branches.values())

    def field(self, name: str, depth: int) -> dict[str, Any]:
        made = {"name": name, "type": self.type(depth)}
        if self.rng.random() < 0.5:
            made["default"] = self.default(made["type"])
        if self.rng.random() < 0.05:
            made["aliases"] = self.rng.sample(_FIELDS, self.rng.randint(1, 2))
        return made

    def default(self, kind: Any, depth: int = 3) -> Any:
        if self.rng.random() < 0.06 or depth == 0:
            return copy.deepcopy(self.rng.choice(_ODD))
        if isinstance(kind, list):
            return self.default(kind[0], depth - 1) if kind else None
        if isinstance(kind, str):
            kind = self.made.get(kind, kind)
        if isinstance(kind, str):
            return self.rng.choice(_VALUES.get(kind, ({},)))
        return self._default_of(kind, depth - 1)

    def _default_of(self, kind: dict[str, Any], depth: int) -> Any:
        if kind["type"] == "array":
            return [self.default(kind["items"], depth) for _ in range(self.rng.randint(0, 2))]
        if kind["type"] == "map":
            return {"k": self.default(kind["values"], depth)} if self.rng.random() < 0.5 else {}
        if kind["type"] == "record":
            present = [each for each in kind["fields"] if "default" not in each or self.rng.random() < 0.3]
            return {each["name"]: self.default(each["type"], depth) for each in present}
        return self.rng.choice(("A", "B")) if kind["type"] == "enum" else "x"


def pair(rng: random.Random) -> tuple[str, str]:
    """Return the texts of a reader and a writer, mostly a schema and its edited form."""
    first = _schema(rng)
    if rng.random() < 0.2:
        return json.dumps(first), json.dumps(_schema(rng))
    text = json.dumps(first)
    other = text
    for _ in range(rng.randint(1, 4)):
        other = _edited(rng, other)
    return (text, other) if rng.random() < 0.5 else (other, text)


def _schema(rng: random.Random) -> Any:
    maker = _Maker(rng)
    return maker.named(rng.randint(2, 5)) if rng.random() < 0.8 else maker.type(rng.randint(2, 4))


def _edited(rng: random.Random, text: str) -> str:
    roll = rng.random()
    if roll < 0.15:
        return text.replace(f'"{rng.choice(_RECORDS)}"', f'"{rng.choice(_RECORDS)}"')
    value = json.loads(text)
    records = [each for each in objects(value) if "fields" in each]
    enums = [each for each in objects(value) if "symbols" in each]
    if enums and rng.random() < 0.3:
        _edit_symbols(rng, rng.choice(enums))
    if roll < 0.35 and records:
        _rename(rng, rng.choice(records))
    elif roll < 0.75 and records:
        _edit_field(rng, rng.choice(records))
    else:
        _edit_types(rng, value)
    return json.dumps(value)


def _rename(rng: random.Random, record: dict[str, Any]) -> None:
    """Rename the record's definition but not references to it, often with the old name as an alias."""
    old = record["name"]
    record["name"] = rng.choice((*_RECORDS, old.rpartition(".")[2], "n." + old))
    if rng.random() < 0.6:
        record["aliases"] = [old]


def _edit_field(rng: random.Random, record: dict[str, Any]) -> None:
    fields = record["fields"]
    roll = rng.random()
    if roll < 0.3 or not fields:
        fields.insert(rng.randint(0, len(fields)), _Maker(rng).field(rng.choice((*_FIELDS, "e", "f")), 1))
    elif roll < 0.5:
        fields.pop(rng.randrange(len(fields)))
    elif roll < 0.6:
        rng.shuffle(fields)
    elif roll < 0.8:
        field = rng.choice(fields)
        field["aliases"] = [field["name"]]
        field["name"] = rng.choice((*_FIELDS, "e"))
    else:
        field = rng.choice(fields)
        if field.pop("default", field) is field:
            field["default"] = _Maker(rng).default(field["type"])


def _edit_symbols(rng: random.Random, enum: dict[str, Any]) -> None:
    enum["symbols"] = rng.sample(("A", "B", "C", "D"), rng.randint(1, 3))
    if "default" in enum:
        enum["default"] = rng.choice(enum["symbols"])


def _edit_types(rng: random.Random, value: Any) -> None:
    spots = [(each, key) for each in objects(value) for key in ("type", "items", "values") if key in each]
    spots = [(each, key) for each, key in spots if isinstance(each[key], list | dict) or each[key] in PRIMITIVES]
    if not spots:
        return
    holder, key = rng.choice(spots)
    kind = holder[key]
    if isinstance(kind, list):
        rng.choice((rng.shuffle, lambda each: each and each.pop(), lambda each: each.insert(0, "boolean")))(kind)
    elif rng.random() < 0.5:
        holder[key] = [*rng.choice(((), ("null",), ("int",), ("null", "long"))), kind]
    elif isinstance(kind, str) and kind in PROMOTED and rng.random() < 0.7:
        holder[key] = rng.choice(PROMOTED[kind])
    else:
        holder[key] = rng.choice(PRIMITIVES)
