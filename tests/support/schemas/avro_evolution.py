"""Random schemas as teams write them, and the edits that teams make: a pair is a schema and its edited form.

`avro_schemas` tests corners of the notation and `avro_readings` corners of resolution. This module has a share of all
features of real histories: aliases, namespaces, recursion, unions of records, enum defaults, logical types, promotions,
renamed and reordered fields. It also has the corners in which Avro's releases differ: `$`, definitions that come late
or twice, defaults of a later branch. `avro_features` returns the features of a pair.
"""

import copy
import json
import random
from collections.abc import Callable
from typing import Any

from support.schemas import avro_corners
from support.schemas.avro_corners import fields, objects, records

_Schema = Any
_Named = dict[str, Any]

NUMBERS = ("int", "long", "float", "double")
_PRIMITIVES = ("boolean", "int", "int", "long", "float", "double", "bytes", "string", "string")
_SPACES = ("shop", "shop.orders", "x")
_TYPES = ("Order", "Item", "Price", "State", "Address", "Event", "Hash", "Note")
_FIELDS = ("id", "name", "count", "price", "state", "next", "parts", "note", "at")
_SYMBOLS = ("NEW", "PAID", "SENT", "LOST", "BACK")
_LOGICAL: tuple[dict[str, Any], ...] = (
    {"type": "int", "logicalType": "date"},
    {"type": "int", "logicalType": "time-millis"},
    {"type": "long", "logicalType": "timestamp-millis"},
    {"type": "long", "logicalType": "local-timestamp-micros"},
    {"type": "string", "logicalType": "uuid"},
    {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
    {"type": "bytes", "logicalType": "big-decimal"},
)
_VALUES: dict[str, tuple[Any, ...]] = {
    "null": (None,),
    "boolean": (True, False),
    "int": (0, 7),
    "long": (0, 2**40),
    "float": (0, 1.5),
    "double": (0, 1.5),
    "bytes": ("", "ÿ"),
    "string": ("", "x"),
}
_ODD: tuple[Any, ...] = (None, "x", 1, 1.5, True, [], {}, 2**40, "NaN", 10**20, {"id": 1})


class _Maker:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.taken: dict[str, _Named] = {}

    def record(self, depth: int) -> _Named:
        made = self.named("record")
        names = self.rng.sample(_FIELDS, self.rng.randint(1, 4))
        made["fields"] = [self.field(name, depth) for name in names]
        return made

    def named(self, kind: str, **rest: Any) -> _Named:
        name = self.rng.choice([each for each in _TYPES if each not in self.taken] or ["Last"])
        made = {"type": kind, "name": name, **rest}
        if self.rng.random() < 0.3:
            made["namespace"] = self.rng.choice(_SPACES)
        self.taken[name] = made
        return made

    def field(self, name: str, depth: int) -> dict[str, Any]:
        kind = self.type(depth)
        made = {"name": name, "type": kind}
        if self.rng.random() < 0.55:
            made["default"] = self.default(kind)
        return made

    def type(self, depth: int) -> _Schema:
        roll = self.rng.random()
        if depth <= 0 or roll < 0.35:
            return self.rng.choice(_PRIMITIVES)
        if roll < 0.45:
            return dict(self.rng.choice(_LOGICAL))
        if roll < 0.55 and self.taken:
            return self.reference()
        make: Callable[[int], _Schema] = self.rng.choice(
            (self.record, self.enum, self.fixed, self.array, self.nullable, self.union, self.union)
        )
        return make(depth - 1)

    def reference(self) -> _Schema:
        """Return the name of an earlier type, in a union or an array if it may be that of an enclosing record."""
        made = self.rng.choice(list(self.taken.values()))
        space = made.get("namespace")
        name = f"{space}.{made['name']}" if space else made["name"]
        return ["null", name] if self.rng.random() < 0.7 else {"type": "array", "items": name}

    def enum(self, _: int) -> _Named:
        made = self.named("enum", symbols=self.rng.sample(_SYMBOLS, self.rng.randint(2, 4)))
        if self.rng.random() < 0.5:
            made["default"] = made["symbols"][0]
        return made

    def fixed(self, _: int) -> _Named:
        return self.named("fixed", size=self.rng.choice((8, 16)))

    def array(self, depth: int) -> _Schema:
        inner = self.type(depth)
        return self.rng.choice(({"type": "array", "items": inner}, {"type": "map", "values": inner}))

    def nullable(self, depth: int) -> _Schema:
        inner = self.type(depth)
        return inner if isinstance(inner, list) or inner == "null" else ["null", inner]

    def union(self, depth: int) -> _Schema:
        """Several records, an event each, mostly."""
        branches: list[_Schema] = [self.record(depth) for _ in range(self.rng.choice((1, 2, 2, 3)))]
        branches += self.rng.sample(("null", "string", "int", "long", "bytes"), self.rng.randint(1, 2))
        if self.rng.random() < 0.3:
            branches.append(self.enum(depth))
        self.rng.shuffle(branches)
        return branches

    def default(self, kind: _Schema) -> Any:
        roll = self.rng.random()
        if roll < 0.06:
            return copy.deepcopy(self.rng.choice(_ODD))
        if isinstance(kind, list):
            return self.default(kind[0] if roll < 0.85 else self.rng.choice(kind))
        if isinstance(kind, str):
            return self.rng.choice(_VALUES.get(kind, ({}, None)))
        if kind["type"] == "record":
            return {each["name"]: self.default(each["type"]) for each in kind["fields"]}
        simple: dict[str, tuple[Any, ...]] = {"array": ([],), "map": ({},), "fixed": ("x",)}
        return self.rng.choice(simple.get(kind["type"]) or tuple(kind.get("symbols", ())) or _VALUES[kind["type"]])


def schema(rng: random.Random) -> _Schema:
    """Return a schema as a JSON value. Most are valid."""
    return _Maker(rng).record(3)


def pair(rng: random.Random) -> tuple[str, str]:
    """Return the texts of a schema and of its edited form, in either order."""
    first = schema(rng)
    second = copy.deepcopy(first)
    for _ in range(rng.choice((1, 1, 2, 3))):
        rng.choice(_EDITS)(rng, second)
    if rng.random() < 0.12:
        avro_corners.add(rng, first)
    if rng.random() < 0.12:
        avro_corners.add(rng, second)
    texts = json.dumps(first), json.dumps(second)
    return texts if rng.random() < 0.5 else texts[::-1]


def _some(rng: random.Random, candidates: list[Any]) -> list[Any]:
    return rng.sample(candidates, 1) if candidates else []


def _add_field(rng: random.Random, value: Any) -> None:
    fields = rng.choice(records(value))["fields"]
    made = _Maker(rng).field(rng.choice([*_FIELDS, "extra", "more"]), 1)
    if rng.random() < 0.6:
        made.setdefault("default", _Maker(rng).default(made["type"]))
    if made["name"] not in [each["name"] for each in fields]:
        fields.insert(rng.randint(0, len(fields)), made)


def _drop_field(rng: random.Random, value: Any) -> None:
    fields = rng.choice(records(value))["fields"]
    if fields:
        fields.pop(rng.randrange(len(fields)))


def _reorder(rng: random.Random, value: Any) -> None:
    record = rng.choice(records(value))
    rng.shuffle(record["fields"])


def _rename_field(rng: random.Random, value: Any) -> None:
    record = rng.choice(records(value))
    for each in _some(rng, record["fields"]):
        if rng.random() < 0.7:
            each["aliases"] = [each["name"]]
        each["name"] = rng.choice(("renamed", "other", *_FIELDS[:2]))


def _promote(rng: random.Random, value: Any) -> None:
    spots = [(each, key) for each in objects(value) for key in ("type", "items", "values") if key in each]
    spots = [(each, key) for each, key in spots if each[key] in NUMBERS or each[key] in ("string", "bytes")]
    for each, key in _some(rng, spots):
        old = each[key]
        wider = NUMBERS[NUMBERS.index(old) + 1 :] if old in NUMBERS else ({"string": "bytes", "bytes": "string"}[old],)
        each[key] = rng.choice(wider or ("int",))


def _wrap(rng: random.Random, value: Any) -> None:
    for each in _some(rng, fields(value)):
        kind = each["type"]
        if not isinstance(kind, list):
            each["type"] = ["null", kind] if rng.random() < 0.6 else [kind, "null"]
        elif rng.random() < 0.5:
            rng.shuffle(kind)
        elif len(kind) > 1:
            kind.pop(rng.randrange(len(kind)))


def _rename_type(rng: random.Random, value: Any) -> None:
    for each in _some(rng, [each for each in objects(value) if "name" in each and each.get("type") in _KINDS]):
        old = each["name"]
        if rng.random() < 0.5:
            each["namespace"] = rng.choice(_SPACES)
        else:
            each["name"] = rng.choice(("Renamed", "Other", old))
        if rng.random() < 0.6:
            each["aliases"] = [old]


_KINDS = ("record", "enum", "fixed")


def _edit_enum(rng: random.Random, value: Any) -> None:
    for each in _some(rng, [each for each in objects(value) if "symbols" in each]):
        spare = [symbol for symbol in each["symbols"] if symbol != each.get("default")]
        if rng.random() < 0.5 or not spare:
            each["symbols"].append(f"MORE{len(each['symbols'])}")
        else:
            each["symbols"].remove(rng.choice(spare))


def _edit_logical(rng: random.Random, value: Any) -> None:
    for each in _some(rng, [each for each in objects(value) if "logicalType" in each]):
        if rng.random() < 0.4:
            each["precision"] = rng.choice((4, 9, 18))
        else:
            each["logicalType"] = rng.choice(("date", "timestamp-micros", "decimal", "uuid"))


def _edit_default(rng: random.Random, value: Any) -> None:
    for each in _some(rng, fields(value)):
        if rng.random() < 0.3:
            each.pop("default", None)
        else:
            each["default"] = (
                copy.deepcopy(rng.choice(_ODD)) if rng.random() < 0.25 else _Maker(rng).default(each["type"])
            )


def _redocument(rng: random.Random, value: Any) -> None:
    each = rng.choice(list(objects(value)))
    each["doc"] = "words"
    rng.choice(fields(value) or [{}])["order"] = "ascending"


_EDITS: tuple[Callable[[random.Random, Any], None], ...] = (
    _add_field, _add_field, _drop_field, _reorder, _reorder, _rename_field, _promote, _promote, _wrap, _rename_type,
    _edit_enum, _edit_logical, _edit_default, _redocument,
)  # fmt: skip
