"""Corners in which Avro's releases differ, added to a record schema; and iteration over a schema."""

import copy
import random
from collections.abc import Iterator
from typing import Any

_Named = dict[str, Any]


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """Yield all JSON objects of the value, outer ones first."""
    if isinstance(value, dict):
        yield value
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for part in parts:
        yield from objects(part)


def records(value: Any) -> list[_Named]:
    """Return all definitions of records in the value."""
    return [each for each in objects(value) if isinstance(each.get("fields"), list)]


def fields(value: Any) -> list[dict[str, Any]]:
    return [each for record in records(value) for each in record["fields"]]


def add(rng: random.Random, value: Any) -> None:
    """Add a corner in which Avro's releases differ."""
    rng.choice((_dollar, _odd_space, _late, _late, _twice, _huge_property))(rng, value)


def _dollar(rng: random.Random, value: Any) -> None:
    each = rng.choice([each for each in objects(value) if isinstance(each.get("name"), str)])
    each["name"] += "$"


def _odd_space(rng: random.Random, value: Any) -> None:
    rng.choice(records(value))["namespace"] = rng.choice(("y-z", "a..b", "x.1y", "$", "a.b$", ".a", "a."))


def _late(rng: random.Random, value: Any) -> None:
    """Name a type first and define it in the last field."""
    named = [each for each in fields(value) if isinstance(each["type"], dict) and "name" in each["type"]]
    if not named:
        named = [{"name": "late", "type": _small_record(rng), "default": rng.choice(({}, {"id": 1}, None))}]
        value["fields"].insert(0, named[0])
    each = rng.choice(named)
    definition, space = each["type"], each["type"].get("namespace")
    name = f"{space}.{definition['name']}" if space else definition["name"]
    each["type"] = rng.choice((name, ["null", name], {"type": "array", "items": name}, {"type": name}))
    if rng.random() < 0.5:
        each["default"] = rng.choice((None, {}, [], {"id": 1, "name": "x", "count": 1}))
    value["fields"].append({"name": "last", "type": rng.choice((definition, ["null", definition]))})


def _small_record(rng: random.Random) -> _Named:
    kinds = ("int", "string", ["null", "long"], {"type": "array", "items": "string"})
    names = rng.sample(("id", "name", "count"), 2)
    members = [{"name": each, "type": rng.choice(kinds)} for each in names]
    return {"type": "record", "name": "Late", "fields": members}


def _twice(rng: random.Random, value: Any) -> None:
    """Define a type again, or a record within itself."""
    named = [each for each in objects(value) if each.get("type") in ("enum", "fixed") and "name" in each]
    again = copy.deepcopy(rng.choice(named)) if named and rng.random() < 0.7 else _small_record(rng)
    if "fields" in again:
        again = {**again, "name": value.get("name")}
    if rng.random() < 0.3:
        again["x"] = rng.choice((1, 2))
    value["fields"].insert(rng.randint(0, len(value["fields"])), {"name": "again", "type": ["null", again]})


def _huge_property(rng: random.Random, value: Any) -> None:
    rng.choice(list(objects(value)))["x"] = rng.choice((2**63, [10**30], {"a": -(2**63)}))
