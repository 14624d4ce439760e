"""Messages of orders, as an old topic retains them: three writers' versions, and one reader more.

Between them fields came and went, numbers were promoted, a symbol was removed, and a field lost its null. Some
0.65 % of the messages cannot be read for that. The seed determines all of it.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_SYMBOLS = ("EUR", "USD", "GBP", "CHF")
_ADDRESS = [("street", "string"), ("city", "string"), ("zip", "string"), ("floor", ["null", "int"])]
_BAD = 0.0065


@dataclass(frozen=True, slots=True)
class Orders:
    """The texts of the reader and of the writers, and messages: the number of the writer, and the value."""

    reader: dict[str, Any]
    writers: tuple[dict[str, Any], ...]
    messages: Sequence[tuple[int, dict[str, Any]]]
    bad: int


def made(count: int, seed: int = 262) -> Orders:
    """Return `count` messages, with their schemas."""
    rng = random.Random(seed)  # noqa: S311  # a seed, not a secret
    writers = (_version(1), _version(2), _version(3))
    messages = []
    bad = 0
    for _ in range(count):
        number = rng.choices((0, 1, 2), (1, 3, 6))[0]
        value = _value(rng)
        if rng.random() < _BAD:
            bad += 1
            value.update({"currency": "CHF"} if rng.random() < 0.5 else {"status": None})
        messages.append((number, {each["name"]: value[each["name"]] for each in writers[number]["fields"]}))
    return Orders(_reader(), writers, messages, bad)


def _record(name: str, fields: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": each, "type": kind} for each, kind in fields]}


def _fields(price: str, symbols: Sequence[str], status: Any) -> list[tuple[str, Any]]:
    item = _record("Item", [("sku", "string"), ("quantity", "int"), ("price", price)])
    return [
        ("id", "string"),
        ("customer", "int" if price == "float" else "long"),
        ("created", {"type": "long", "logicalType": "timestamp-millis"}),
        ("currency", {"type": "enum", "name": "Currency", "symbols": list(symbols)}),
        ("status", status),
        ("address", _record("Address", _ADDRESS)),
        ("items", {"type": "array", "items": item}),
        ("total", price),
        ("labels", {"type": "map", "values": "string"}),
        ("note", ["null", "string"]),
        ("paid", "boolean"),
    ]


def _version(number: int) -> dict[str, Any]:
    fields = _fields("float" if number == 1 else "double", _SYMBOLS, ["null", "string"])
    if number < 3:
        fields.insert(3, ("session", "string"))
    if number > 1:
        fields.insert(6, ("trace", {"type": "fixed", "name": "Trace", "size": 16}))
    return _record("Order", fields)


def _reader() -> dict[str, Any]:
    reader = _record("Order", _fields("double", _SYMBOLS[:3], "string"))
    reader["fields"].append({"name": "channel", "type": ["null", "string"], "default": None})
    return reader


def _value(rng: random.Random) -> dict[str, Any]:
    items = [
        {"sku": f"{rng.getrandbits(44):011x}", "quantity": rng.randint(1, 90), "price": rng.random() * 100}
        for _ in range(rng.randint(1, 6))
    ]
    return {
        "id": f"{rng.getrandbits(128):032x}",
        "customer": rng.randint(1, 2**31 - 1),
        "created": 1_760_000_000_000 + rng.randint(0, 10**10),
        "session": f"{rng.getrandbits(64):016x}",
        "currency": rng.choice(_SYMBOLS[:3]),
        "status": rng.choice(("open", "packed", "on its way", "delivered")),
        "trace": rng.randbytes(16),
        "address": {
            "street": f"{rng.choice(('Lange Straße', 'High Street', 'Rue de la Gare'))} {rng.randint(1, 300)}",
            "city": rng.choice(("Köln", "Sheffield", "Villeneuve-sur-Lot", "Tromsø")),
            "zip": f"{rng.randint(10_000, 99_999)}",
            "floor": rng.choice((None, rng.randint(0, 30))),
        },
        "items": items,
        "total": rng.random() * 1000,
        "labels": {f"label{each}": f"{rng.getrandbits(48):012x}" for each in range(rng.randint(0, 3))},
        "note": rng.choice((None, None, "Please leave it with the people on the second floor.")),
        "paid": rng.random() < 0.8,
    }
