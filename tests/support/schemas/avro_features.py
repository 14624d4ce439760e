"""The features of a pair of Avro schemas, to check that a generator produces all of them."""

import json
from collections import Counter
from typing import Any

from support.schemas.avro_corners import objects, records
from support.schemas.avro_evolution import NUMBERS


def of(first: str, second: str) -> set[str]:
    one, other = json.loads(first), json.loads(second)
    return _within(one) | _within(other) | _between(one, other)


def _within(value: Any) -> set[str]:
    named = [each for each in objects(value) if isinstance(each.get("name"), str)]
    types = [each for each in named if each.get("type") in ("record", "error", "enum", "fixed")]
    text = json.dumps(value)
    features = {
        "type alias": any("aliases" in each for each in types),
        "field alias": any("aliases" in each for each in named if each not in types),
        "namespace": any("namespace" in each or "." in each["name"] for each in types),
        "enum default": any(each["type"] == "enum" and "default" in each for each in types),
        "logical type": '"logicalType"' in text,
        "decimal": '"decimal"' in text,
        "uuid": '"uuid"' in text,
        "date": '"date"' in text,
        "fixed": any(each["type"] == "fixed" for each in types),
        "map of arrays": any(_is_of(each.get("values"), "array") for each in objects(value)),
        "field default": any("default" in each for each in named if each not in types),
        "odd default": any(_is_odd(each) for each in named if each not in types),
        "dollar": any("$" in each["name"] for each in named),
        "defined twice": max(Counter(each["name"] for each in types).values(), default=0) > 1,
        "recursion": any(_is_recursive(each) for each in types),
        "union of records": _has_union_of_records(value),
        "named before defined": any(_is_late(text, each["name"]) for each in types),
    }
    return {name for name, is_there in features.items() if is_there}


_KINDS: dict[str, tuple[type, ...]] = {
    "null": (type(None),),
    "boolean": (bool,),
    **dict.fromkeys(("int", "long"), (int,)),
    **dict.fromkeys(("float", "double"), (int, float)),
    **dict.fromkeys(("bytes", "string"), (str,)),
}


def _is_odd(field: dict[str, Any]) -> bool:
    kind = field.get("type")
    first = kind[0] if isinstance(kind, list) and kind else kind
    fit = _KINDS.get(first) if isinstance(first, str) else None
    return "default" in field and fit is not None and type(field["default"]) not in fit


def _is_recursive(named: dict[str, Any]) -> bool:
    return "fields" in named and any(f'"{part}"' in _texts(named["fields"]) for part in _spellings(named))


def _spellings(named: dict[str, Any]) -> tuple[str, ...]:
    return named["name"], f"{named.get('namespace')}.{named['name']}"


def _texts(fields: Any) -> str:
    types = [each[key] for each in objects(fields) for key in ("type", "items", "values") if key in each]
    return json.dumps([each for each in types if isinstance(each, str | list)])


def _has_union_of_records(value: Any) -> bool:
    unions = [part for each in objects(value) for part in each.values() if isinstance(part, list)]
    return any(sum(isinstance(branch, dict) and "fields" in branch for branch in union) > 1 for union in unions)


def _is_of(held: Any, kind: str) -> bool:
    branches = held if isinstance(held, list) else [held]
    return any(isinstance(each, dict) and each.get("type") == kind for each in branches)


def _is_late(text: str, name: str) -> bool:
    """Return True if a type's name is used before its definition."""
    used = min((at for each in ("", ".") if (at := text.find(f'{each}{name}"')) >= 0), default=-1)
    return 0 <= used < text.find(f'"name": "{name}"')


def _between(one: Any, other: Any) -> set[str]:
    before, after = _fields(one), _fields(other)
    common = before.keys() & after.keys()
    features = {
        "promotion": any(_promotes(before[each], after[each]) for each in common),
        "changed default": any(before[each].get("default") != after[each].get("default") for each in common),
        "renamed field": bool(before.keys() - after.keys()) and bool(after.keys() - before.keys()),
        "reordered fields": [each for each in before if each in common] != [each for each in after if each in common],
        "only one has the field": before.keys() != after.keys(),
    }
    return {name for name, is_there in features.items() if is_there}


def _fields(value: Any) -> dict[tuple[int, str], dict[str, Any]]:
    fields = [(number, each) for number, record in enumerate(records(value)) for each in record["fields"]]
    return {(number, each["name"]): each for number, each in fields if isinstance(each, dict) and "name" in each}


def _promotes(before: dict[str, Any], after: dict[str, Any]) -> bool:
    kinds = [_plain(each.get("type")) for each in (before, after)]
    return kinds[0] != kinds[1] and (set(kinds) <= set(NUMBERS) or set(kinds) == {"string", "bytes"})


def _plain(kind: Any) -> str:
    kind = kind.get("type") if isinstance(kind, dict) else kind
    return kind if isinstance(kind, str) else ""
