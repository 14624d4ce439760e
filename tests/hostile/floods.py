"""Texts that hold one thing very often, or one very long thing."""

import json
from collections.abc import Callable
from random import Random
from typing import Any, Final

from support.schemas.avro import enum, field, fixed, record


def strings(rng: Random, size: int) -> str:
    """Return one text, in a place where a schema has one."""
    piece = rng.choice(
        ("a", "\\\\", '\\"', "\\u0041", "\\n", "é", "\U0001f600", "/", "/*", "//", "{", " ", "a.", "\u0300")
    )
    text = piece * max(1, size // len(piece.encode()))
    return rng.choice(
        (
            '"%s"',
            '{"type":"record","name":"R","doc":"%s","fields":[]}',
            '{"type":"record","name":"%s","fields":[]}',
            '{"type":"record","name":"R","namespace":"%s","fields":[]}',
            '{"type":"record","name":"R","aliases":["%s"],"fields":[]}',
            '{"type":"record","name":"R","fields":[{"name":"%s","type":"int"}]}',
            '{"type":"record","name":"R","fields":[{"name":"a","type":"string","default":"%s"}]}',
            '{"type":"record","name":"R","fields":[{"name":"a","type":"bytes","default":"%s"}]}',
            '{"type":"enum","name":"E","symbols":["%s"]}',
            '{"type":"string","logicalType":"%s"}',
            '{"%s":1}',
            '{"type":"%s"}',
            '"%s',
        )
    ).replace("%s", text)


def blanks(rng: Random, size: int) -> str:
    """White space and comments, before, inside and after a schema; some never end."""
    piece = rng.choice(
        (" ", "\n", "\t", "\r\n", "/**/", "//\n", "/* a */ ", "/*", "//", "/", "*/", "/*/", "\u00a0", "\x00")
    )
    flood = piece * max(1, size // len(piece))
    return rng.choice(('%s"int"', '"int"%s', '{"type":%s"int"}', '{"type":"int"%s}', "%s", "[%s]")).replace("%s", flood)


def members(rng: Random, size: int) -> str:
    """Return one object with very many members, or one array with very many elements."""
    make = rng.choice((_elements, _properties, _fields, _symbols, _aliases, _branches, _defaults))
    return make(rng, size)


def _elements(rng: Random, size: int) -> str:
    element = rng.choice(("[]", "{}", "1", '""', "null", "[[]]", '"int"', "-0.0e-0", '{"a":1}'))
    text = ",".join([element] * max(1, size // (len(element) + 1)))
    wraps = ("[%s]", '{"type":"record","name":"R","fields":[%s]}', '{"type":"int","x":[%s]}', '{"type":[%s]}', "%s")
    return rng.choice(wraps).replace("%s", text)


def _properties(rng: Random, size: int) -> str:
    text = ",".join(f'"p{index}":{index}' for index in range(max(1, size // 16)))
    return rng.choice(('{"type":"int",%s}', '{"type":"record","name":"R","fields":[],%s}', "{%s}")).replace("%s", text)


def _fields(rng: Random, size: int) -> str:
    kind: Any = rng.choice(("int", ["null", "int"], {"type": "int", "x": 1}, {"type": "array", "items": "int"}, "R"))
    rest = rng.choice(({}, {}, {"default": 0}, {"default": None}, {"aliases": ["z"]}))
    unit = len(json.dumps({"name": "f00000", "type": kind, **rest})) + 2
    fields = [{"name": f"f{index}", "type": kind, **rest} for index in range(max(1, size // unit))]
    return json.dumps({"type": "record", "name": "R", "fields": fields})


def _symbols(rng: Random, size: int) -> str:
    symbols = [f"S{index}" for index in range(max(1, size // 10))]
    enum = {"type": "enum", "name": "E", "symbols": symbols, "default": symbols[-1]}
    field = {"name": "a", "type": enum, "default": symbols[-1]}
    return json.dumps(enum if rng.random() < 0.5 else {"type": "record", "name": "R", "fields": [field]})


def _aliases(rng: Random, size: int) -> str:
    aliases = [f"A{index}" for index in range(max(1, size // 10))]
    if rng.random() < 0.3:
        return json.dumps({"type": "record", "name": "R", "aliases": aliases, "fields": []})
    if rng.random() < 0.5:
        fields = [{"name": "a", "type": "int", "aliases": aliases}, {"name": "b", "type": "int", "aliases": aliases}]
    else:
        fields = [field(f"f{n}", "int", aliases=[f"g{n}", "h"]) for n in range(len(aliases) // 6)]
    return json.dumps({"type": "record", "name": "R", "fields": fields})


_BRANCHES: Final[tuple[Callable[[int], dict[str, Any]], ...]] = (
    lambda index: record(f"B{index}"),
    lambda index: enum(f"B{index}", "A"),
    lambda index: fixed(f"B{index}", index),
    lambda index: record(f"n{index % 7}.B{index}", field(f"f{index % 5}", "int")),
)


def _branches(rng: Random, size: int) -> str:
    make = rng.choice(_BRANCHES)
    union = [make(index) for index in range(max(1, size // len(json.dumps(make(10_000)))))]
    if rng.random() < 0.3:
        return json.dumps(union)
    return json.dumps({"type": "record", "name": "R", "fields": [{"name": "a", "type": union}]})


def _defaults(rng: Random, size: int) -> str:
    kind, value = rng.choice(
        (
            ({"type": "array", "items": "int"}, [0] * (size // 3)),
            ({"type": "array", "items": {"type": "array", "items": "int"}}, [[]] * (size // 4)),
            ({"type": "map", "values": "int"}, {f"k{index}": 0 for index in range(size // 12)}),
            (_wide_record(size // 200), {}),
            ({"type": "array", "items": _wide_record(20)}, [{}] * (size // 8)),
        )
    )
    return json.dumps({"type": "record", "name": "R", "fields": [{"name": "a", "type": kind, "default": value}]})


def _wide_record(count: int) -> dict[str, Any]:
    fields = [{"name": f"f{index}", "type": "int", "default": 0} for index in range(count)]
    return {"type": "record", "name": "W", "fields": fields}


_ALIKE: Final = ("Aa", "BB")  # of one hash, to Java


def alike(rng: Random, size: int) -> str:
    """Names with one hash, or that differ in nothing visible."""
    count = max(2, min(size // 40, rng.choice((8, 64, 16_384))))
    width = max(1, (count - 1).bit_length())
    names = ["".join(_ALIKE[index >> bit & 1] for bit in range(width)) for index in range(count)]
    if rng.random() < 0.3:
        names = ["é", "e\u0301", "E\u0301", "K", "\u212a", "\u0131", "i", "a\u200b", "a"]
    fields = [{"name": name, "type": "int"} for name in names]
    symbols = {"type": "enum", "name": "E", "symbols": names}
    long = "x" * min(size // 4, 40_000)
    shared = [{"name": f"{long[: size // count]}{index}", "type": "int"} for index in range(count)]
    record = {"type": "record", "name": "R", "fields": rng.choice((fields, shared))}
    return json.dumps(rng.choice((record, symbols)), ensure_ascii=False)


def references(rng: Random, size: int) -> str:
    """Return a long name that many fields refer to, below which paths grow long."""
    name = "N" * min(rng.choice((10, 1_000, 49_999)), max(1, size // 4))
    kind: Any = {"type": rng.choice(("record", "error")), "name": name, "fields": []}
    count = max(1, size // (len(name) + 40))
    fields = [{"name": "f", "type": kind}, *({"name": f"f{index}", "type": ["null", name]} for index in range(count))]
    return json.dumps(
        {"type": "record", "name": "R", "namespace": rng.choice(("", "a.b", "x" * 200)), "fields": fields}
    )
