"""Hostile texts for readers of Avro schemas or JSON: too deep, too long, endless, or not text at all.

A shape is a function of a random generator and of an approximate size in bytes. Pairs and descriptors are elsewhere.
"""

import json
from collections.abc import Callable
from random import Random
from typing import Any, Final

from support.schemas import avro_circles, avro_readings, avro_schemas

Shape = Callable[[Random, int], str | bytes]

_DEEPEST: Final = 2_000
_WORDS: Final = ("int", "long", "string", "null", "bytes", "double")
_NUMBERS: Final = (
    *("1e999999", "-1e999999", "1e-999999", "-0", "-0.0", "007", "-", "+1", ".5", "5.", "0x10", "1e"),
    *("NaN", "Infinity", "9" * 999, "9" * 1001, "9" * 5000, "-" + "9" * 5000, "0." + "9" * 5000, "1e" + "9" * 5000),
    *("1E400", "1_000", "٣"),
    *(str(2**31), str(-(2**31) - 1), str(2**63), str(-(2**63) - 1), str(2**64), "1.0", "1e2", "4.9e-325", "\u00b2"),
)
_BYTES: Final = (
    *(b"\xff", b"\xfe", b"\x80", b"\xc0\x80", b"\xe0\x80\xaf", b"\xf0\x80\x80\xaf", b"\xf4\x90\x80\x80"),
    *(b"\xed\xa0\x80", b"\xed\xb0\x80", b"\x00", b"\\u0000", b"\\ud800", b"\\udc00\\ud800", b"\\ud83d\\ude00"),
    *(b"\\u", b"\\uD83", b"\\x41", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\xef\xbf\xbe", b"\xe2\x80\xa8"),
    *(b"\xc2\x85", b"\x7f", b"\x1b", b"\x0b"),
    *(b"\xf0\x9f\x98", b"\xe2\x80", b"\xcc\x81" * 50, b"/*", b"*/", b"//", b"\\", b'"', b"{", b"]", b"\r", b"\xc2\xa0"),
)


def encoded(made: str | bytes) -> bytes:
    return made if isinstance(made, bytes) else made.encode("utf-8", "surrogatepass")


def nested(rng: Random, size: int) -> str:
    """Containers in containers; some never close, some close too often."""
    opening, closing = rng.choice(
        (
            ("[", "]"),
            ('{"a":', "}"),
            ('{"type":', "}"),
            ('{"type":"array","items":', "}"),
            ('{"type":"map","values":', "}"),
            ('["null",{"type":"array","items":', "}]"),
            ('[{"type":"map","values":', "}]"),
            ('{"type":"record","name":"R","fields":[{"name":"a","type":', "}]}"),
        )
    )
    depth = max(1, size // (len(opening) + len(closing)))
    if rng.random() < 0.7:
        depth = min(depth, rng.choice((499, 500, 999, 1000, 1001, _DEEPEST)))
    closings = depth + rng.choice((0, 0, 0, 0, -1, 1, -depth))
    return opening * depth + rng.choice(('"int"', "", "1", "[]", "{}")) + closing * closings


def nested_records(rng: Random, size: int) -> str:
    """Records in records, each with a name of its own, directly or through unions, arrays and maps."""
    holders = ("%s", '["null",%s]', '{"type":"array","items":%s}', '{"type":"map","values":%s}')
    holder = rng.choice((*holders, '[%s,{"type":"array","items":"int"}]')).split("%s")
    depth = min(max(1, size // 60), rng.choice((120, 240, 330, 499)))
    default = rng.choice(("", ',"default":{}', ',"default":null', ',"default":[]'))
    opening = "".join(
        f'{{"type":"record","name":"R{index}","fields":[{{"name":"a","type":{holder[0]}' for index in range(depth)
    )
    return opening + '"int"' + f"{holder[1]}{default}}}]}}" * depth


def circles(rng: Random, size: int) -> str:
    """Records that come back to themselves: directly, by unions and arrays, by each other, by aliases of each other."""
    if rng.random() < 0.2:
        return rng.choice(avro_circles.pair(rng))
    count = max(2, min(size // 150, rng.choice((2, 3, 5, 40, 20_000))))
    fields: list[list[dict[str, Any]]] = [[] for _ in range(count)]
    for index in range(count):
        for _ in range(rng.randint(1, 3)):
            target: Any = f"R{rng.choice((index, (index + 1) % count, rng.randrange(count)))}"
            kind = rng.choice(
                (target, ["null", target], {"type": "array", "items": target}, [{"type": "map", "values": target}])
            )
            fields[index].append({"name": f"f{len(fields[index])}", "type": kind})
    records = [
        {"type": "record", "name": f"R{index}", "aliases": [f"R{(index + 1) % count}", f"n.R{index}"], "fields": each}
        for index, each in enumerate(fields)
    ]
    if rng.random() < 0.5:
        for record in records:
            del record["aliases"]
    return _declared(rng, records)


def doubling(rng: Random, size: int) -> str:
    """Records that hold the next twice: 2**n values for a naive walk; with defaults that a reader fills in."""
    count = max(2, min(size // 170, rng.choice((12, 30, 60, 240, 20_000))))
    default: Any = rng.choice(({}, None, ...))
    wrap = rng.choice(
        (
            lambda name: name,
            lambda name: ["null", name],
            lambda name: [name, "null"],
            lambda name: {"type": "array", "items": name},
            lambda name: {"type": "map", "values": ["null", name]},
        )
    )
    records: list[dict[str, Any]] = [
        {"type": "record", "name": "L", "fields": [{"name": "v", "type": "int", "default": 1}]}
    ]
    for index in range(count - 1):
        kind = wrap(records[-1]["name"])
        extra = {} if default is ... else {"default": default}
        names = rng.sample(("a", "b", "c"), 2)
        fields = [{"name": name, "type": kind, **extra} for name in names]
        if rng.random() < 0.3:
            fields.append({"name": "u", "type": ["null", *(each["name"] for each in records[-3:])]})
        records.append({"type": "record", "name": f"D{index}", "fields": fields})
    return _declared(rng, records)


def _declared(rng: Random, records: list[dict[str, Any]]) -> str:
    """Return one text with all records in order, though they refer to each other in any."""
    if rng.random() < 0.5:  # the first field that has it defines it
        return json.dumps({"type": "record", "name": "Top", "fields": _as_fields(records)})
    return json.dumps(records)


def _as_fields(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"name": f"x{index}", "type": each} for index, each in enumerate(records)]


def numbers(rng: Random, size: int) -> str:
    """Numbers that no machine has, where numbers may stand and where not."""
    number = rng.choice(_NUMBERS) if rng.random() < 0.9 else "9" * size
    return rng.choice(
        (
            '{"type":"fixed","name":"F","size":%s}',
            '{"type":"record","name":"R","fields":[{"name":"a","type":"int","default":%s}]}',
            '{"type":"record","name":"R","fields":[{"name":"a","type":"double","default":%s}]}',
            '{"type":"record","name":"R","fields":[{"name":"a","type":"int","x":%s,"y":[%s,{"z":%s}]}]}',
            '{"type":"bytes","logicalType":"decimal","precision":%s,"scale":%s}',
            '{"type":"object","id":%s}',
            '{"type":%s}',
            "%s",
            "[%s]",
        )
    ).replace("%s", number)


def noise(rng: Random, size: int) -> bytes:
    """Bytes that are no text, or odd text, anywhere in a good document; or nothing but such bytes."""
    if rng.random() < 0.1:
        return rng.choice(_BYTES) * max(1, size // 4)
    content = bytearray(good(rng, size))
    for _ in range(rng.randint(1, 3)):
        at = rng.randint(0, len(content))
        content[at:at] = rng.choice(_BYTES)
    return bytes(content)


def good(rng: Random, size: int) -> bytes:
    """Return a document with nothing wrong."""
    del size
    makers = (avro_schemas.schema, lambda chance: json.loads(avro_readings.pair(chance)[0]))
    return json.dumps(rng.choice(makers)(rng), ensure_ascii=False).encode()


def cut(rng: Random, size: int) -> bytes:
    """Return the beginning of a good document."""
    whole = good(rng, size)
    return whole[: rng.randint(0, len(whole))]


def flipped(rng: Random, size: int) -> bytes:
    """Return a good document with some bits flipped."""
    content = bytearray(good(rng, size))
    for _ in range(rng.randint(1, 4)):
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    return bytes(content)


def twice(rng: Random, size: int) -> str:
    """Members that are there twice, or very often."""
    member = rng.choice(
        ('"type":"int"', '"name":"R"', '"fields":[]', '"default":1', '"x":[1]', '"items":"int"', '"":0')
    )
    many = ",".join([member] * rng.choice((2, 2, max(2, size // len(member)))))
    first = rng.choice(('"type":"record","name":"A"', '"type":"array"', '"type":"enum","symbols":["A"]', '"name":"B"'))
    return f"{{{first},{many}}}" if rng.random() < 0.5 else f"{{{many},{first}}}"


def spoilt(rng: Random, size: int) -> bytes:
    """Return a schema with a mistake or two."""
    del size
    return avro_schemas.spoilt(rng).encode("utf-8", "surrogatepass")
