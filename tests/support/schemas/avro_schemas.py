"""Small adversarial Avro schemas by the seed: JSON values that are mostly right, with the corners where parsers differ.

`schema` makes one, `pair` a reader and a writer that have most in common, `spoilt` a text that may be wrong in any way.
"""

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
_NAMES = ("R1", "R2", "R3", "E1", "F1", "q.R2", "p.F1", "p.E1", "é")
_FIELDS = ("a", "b", "c", "d", "nc")
_SYMBOLS = ("A", "B", "C", "D")
_PROPS: tuple[tuple[str, Any], ...] = (
    ("logicalType", "date"),
    ("logicalType", "decimal"),
    ("precision", 4),
    ("x", 1),
    ("x", 1.0),
    ("x", {"a": [1, None], "b": "é"}),
    ("default", "A"),
    ("order", "ignore"),
    ("size", 3),
    ("doc", "words"),
)
_ODD: tuple[Any, ...] = (
    None, True, 0, -1, 4, 1.5, 2**31, 2**63, 10**20, "", "x-y", "Int", "null", [], {}, ["a"], "NaN",
)  # fmt: skip


class _Maker:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.known: list[str] = []

    def type(self, depth: int) -> Any:
        rng = self.rng
        roll = rng.random()
        if self.known and roll < 0.12:
            return self.reference()
        if depth == 0 or roll < 0.45:
            kind = rng.choice(PRIMITIVES)
            return kind if rng.random() < 0.8 else self.props({"type": kind})
        makers = (self.record, self.record, self.enum, self.fixed, self.array, self.union)
        return rng.choice(makers)(depth - 1)

    def reference(self) -> Any:
        name = self.rng.choice(self.known)
        return name if self.rng.random() < 0.8 else {"type": name}

    def props(self, made: dict[str, Any]) -> dict[str, Any]:
        if self.rng.random() < 0.2:
            made.setdefault(*copy.deepcopy(self.rng.choice(_PROPS)))
        return made

    def named(self, kind: str, **rest: Any) -> dict[str, Any]:
        free = [name for name in _NAMES if name not in self.known]
        name = self.rng.choice(free if free and self.rng.random() < 0.97 else _NAMES)
        made = {"type": kind, "name": name, **rest}
        if self.rng.random() < 0.15:
            made["namespace"] = self.rng.choice(("p", "q", "", "x.y-z"))
        if self.rng.random() < 0.12:
            made["aliases"] = [self.rng.choice(_NAMES)]
        self.known.append(name)
        return self.props(made)

    def record(self, depth: int) -> dict[str, Any]:
        made = self.named("record" if self.rng.random() < 0.95 else "error")
        names = self.rng.sample(_FIELDS, self.rng.randint(0, 3))
        made["fields"] = [self.field(name, depth) for name in names]
        return made

    def field(self, name: str, depth: int) -> dict[str, Any]:
        kind = self.type(depth)
        made = {"name": name, "type": kind}
        if self.rng.random() < 0.4:
            made["default"] = self.default(kind)
        if self.rng.random() < 0.08:
            made["aliases"] = [self.rng.choice(_FIELDS)]
        if self.rng.random() < 0.05:
            made["order"] = self.rng.choice(("ascending", "descending", "ignore", "Ignore"))
        return self.props(made)

    def enum(self, _: int) -> dict[str, Any]:
        made = self.named("enum", symbols=self.rng.sample(_SYMBOLS, self.rng.randint(1, 3)))
        if self.rng.random() < 0.2:
            made["default"] = self.rng.choice(_SYMBOLS)
        return made

    def fixed(self, _: int) -> dict[str, Any]:
        return self.named("fixed", size=self.rng.choice((2, 4)))

    def array(self, depth: int) -> dict[str, Any]:
        inner = self.type(depth)
        made = {"type": "array", "items": inner} if self.rng.random() < 0.5 else {"type": "map", "values": inner}
        return self.props(made)

    def union(self, depth: int) -> list[Any]:
        branches = [self.type(depth) for _ in range(self.rng.choice((0, 1, 2, 2, 2, 3)))]
        if self.rng.random() < 0.5:
            branches = ["null", *(branch for branch in branches if branch != "null")]
        by_label: dict[str, Any] = {}
        for branch in branches:  # most unions have each branch once, and none inside
            if not isinstance(branch, list) or self.rng.random() < 0.03:
                by_label.setdefault(_label(branch) if self.rng.random() < 0.98 else json.dumps(branch), branch)
        return list(by_label.values())

    def default(self, kind: Any) -> Any:
        rng = self.rng
        if rng.random() < 0.08:
            return copy.deepcopy(rng.choice(_ODD))
        if isinstance(kind, list):
            return self.default(kind[0]) if kind else None
        if isinstance(kind, str):
            return rng.choice(_VALUES.get(kind, (None, {}, "A")))
        return self.default_of(kind)

    def default_of(self, kind: dict[str, Any]) -> Any:
        rng = self.rng
        inner = kind["type"]
        if inner == "array":
            return [self.default(kind["items"]) for _ in range(rng.randint(0, 2))]
        if inner == "map":
            return {"k": self.default(kind["values"])} if rng.random() < 0.5 else {}
        if inner in ("record", "error"):
            return {field["name"]: self.default(field["type"]) for field in kind["fields"] if rng.random() < 0.8}
        return rng.choice(_SYMBOLS) if inner in ("enum", "fixed") else self.default(inner)


_VALUES: dict[str, tuple[Any, ...]] = {
    "null": (None,),
    "boolean": (True, False),
    "int": (1, 2, 0, -1),
    "long": (1, 2, 2**40),
    "float": (1, 1.0, 1.5, "NaN", "1", "0x1p3", "-Infinity", " 2f "),
    "double": (1, 1.0, 0.0, -0.0, "NaN", "1e3", "1_0"),
    "bytes": ("", "ÿ"),
    "string": ("", "x", "y"),
}


def _label(branch: Any) -> str:
    return str(branch.get("name", branch["type"]) if isinstance(branch, dict) else branch)


def seeded(seed: int | str) -> random.Random:
    """Return the random generator of a seed."""
    return random.Random(seed)  # noqa: S311 - chance for tests, to be repeated


def schema(rng: random.Random, depth: int = 3) -> Any:
    """Return a schema as a JSON value. Most are valid."""
    maker = _Maker(rng)
    return maker.record(depth) if rng.random() < 0.6 else maker.type(depth)


def pair(rng: random.Random) -> tuple[Any, Any]:
    """Return a reader and a writer: a schema and its edited form."""
    first = schema(rng)
    second = copy.deepcopy(first)
    for _ in range(rng.randint(0, 3)):
        second = edited(rng, second)
    return (first, second) if rng.random() < 0.5 else (second, first)


def edited(rng: random.Random, value: Any) -> Any:
    """Return the schema after one edit, as people make it."""
    spots = list(_spots(value))
    holder, key = rng.choice(spots) if spots else (None, None)
    if holder is None:
        return _retyped(rng, value)
    spot = holder[key]
    if isinstance(spot, list) and key == "fields":
        _edit_fields(rng, spot)
    elif isinstance(spot, list) and spot:
        edits = (rng.shuffle, lambda items: items.pop(), lambda items: items.insert(0, rng.choice(PRIMITIVES)))
        rng.choice(edits)(spot)
    elif key in ("type", "items", "values") and isinstance(holder, dict) and "fields" not in holder:
        holder[key] = _retyped(rng, spot)
    elif key == "name":
        holder[key] = rng.choice(_FIELDS if "name" in holder and "type" in holder and spot in _FIELDS else _NAMES)
    elif key in ("default", "size", "order", "x", "namespace", "aliases"):
        del holder[key]
    return value


def _edit_fields(rng: random.Random, fields: list[Any]) -> None:
    maker = _Maker(rng)
    roll = rng.random()
    if roll < 0.4 or not fields:
        fields.insert(rng.randint(0, len(fields)), maker.field(rng.choice(_FIELDS), 1))
    elif roll < 0.6:
        fields.pop(rng.randrange(len(fields)))
    elif roll < 0.75:
        rng.shuffle(fields)
    else:
        field = rng.choice(fields)
        field[rng.choice(("default", "aliases", "doc", "order"))] = "x"
        field["aliases"] = [rng.choice(_FIELDS)]
        field["order"] = rng.choice(("ascending", "ignore"))


def _retyped(rng: random.Random, kind: Any) -> Any:
    roll = rng.random()
    if roll < 0.4:
        return rng.choice(PRIMITIVES)
    if roll < 0.6 and not isinstance(kind, list):
        return ["null", kind] if kind != "null" else [kind]
    if roll < 0.8 and isinstance(kind, str):
        return {"type": kind, rng.choice(("doc", "logicalType", "x")): "date"}
    return _Maker(rng).type(1)


def _spots(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every member and element inside a JSON value, with its container."""
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from _spots(value[key])


def spoilt(rng: random.Random) -> str:
    """Return a broken text of a schema: with an odd value, a missing or duplicate member, or other characters."""
    value = schema(rng)
    if rng.random() < 0.7:
        _spoil(rng, value)
    text = json.dumps(value, ensure_ascii=rng.random() < 0.5)
    return text if rng.random() < 0.5 else _garbled(rng, text)


def spoilt_twice(rng: random.Random) -> str:
    """Return the text of a schema with two odd values, or without some members."""
    value = schema(rng)
    for _ in range(2):
        _spoil(rng, value)
    return json.dumps(value)


def _spoil(rng: random.Random, value: Any) -> None:
    spots = list(_spots(value))
    if not spots:
        return
    holder, key = rng.choice(spots)
    if rng.random() < 0.3:
        del holder[key]
    else:
        holder[key] = copy.deepcopy(rng.choice((*_ODD, *PRIMITIVES, *_NAMES, "fixed", "array", "record")))


_SNIPPETS = (
    *'"{}[],:\\/ \n\t\x00\x0b\x7f\ufeff\ufffd\u2028', "//c\n", "/*c*/", "/*", "//", "\\u00e9", "\\ud800", "\\x",
    "null", "NaN", "1", "01", "1.", "-", "+1", ".5", "1e5", "1E+2", "-0", "'a'", "é", "9" * 30, "True", '"a":1,', ",",
)  # fmt: skip


def _garbled(rng: random.Random, text: str) -> str:
    for _ in range(rng.randint(1, 2)):
        at = rng.randint(0, len(text))
        text = text[:at] + rng.choice(_SNIPPETS) + text[at + rng.choice((0, 0, 1, 2)) :]
    return text
