"""Refusals of the API server for a resource of the right types: the bounds of its fields, and its CEL rules.

`topicschema check` has no API server. Topics and Pulsar namespaces have their own check in `core.topics`.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from functools import cache
from types import NoneType
from typing import Annotated, Any, NamedTuple, get_args, get_origin

from topicschema.api import schema_fields
from topicschema.api.schema_fields import CelRule, Field
from topicschema.api.wire import members


class _Type(NamedTuple):
    """A type of values: its bounds and rules, the type of its items, and the types of its members."""

    field: Field
    rules: tuple[CelRule, ...]
    item: "_Type | None"
    members: "Mapping[str, _Type]"


def faults(cls: type, wire: object, path: str) -> Iterator[tuple[str, str]]:
    """Yield place and message of each value in `wire` (parsed JSON, which `wire.decode` accepts) that is refused."""
    return _faults(_type(cls), wire, path)


@cache
def _type(hint: Any) -> _Type:
    field = Field()
    while get_origin(hint) is Annotated or NoneType in get_args(hint):
        hint, *notes = get_args(hint)
        field = next((note for note in notes if isinstance(note, Field)), field)
    origin, arguments = get_origin(hint), get_args(hint)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        parts = {key: _type(each) for key, each in members(hint).items()}
        return _Type(field, (*field.rules, *getattr(hint, "RULES", ())), None, parts)
    item = _type(arguments[origin is Mapping]) if origin in (tuple, Mapping) else None
    return _Type(field, field.rules, item, {})


def _faults(type_: _Type, wire: Any, path: str) -> Iterator[tuple[str, str]]:
    if wire is None:
        return
    why = _outside(type_.field, wire)
    if why:
        yield path, why
    if type_.item is not None:
        for key, each in wire.items() if isinstance(wire, dict) else enumerate(wire):
            yield from _faults(type_.item, each, f"{path}[{key}]")
    for key in (each for each in type_.members if each in wire):
        yield from _faults(type_.members[key], wire[key], f"{path}.{key}")
    for rule in type_.rules:
        if rule.holds is not None and not rule.holds(wire):
            yield path + rule.path, rule.message


def _outside(field: Field, value: Any) -> str:
    """Return the bound that the value breaks, or an empty text."""
    if isinstance(value, str):
        return _outside_of_text(field, value)
    if isinstance(value, dict):
        return _too_many(len(value), field.max_properties)
    if isinstance(value, list):
        return _too_few_or_many(len(value), field) or _repeated(field, value)
    if isinstance(value, bool):
        return ""
    if field.maximum is not None and value > field.maximum:
        return f"must be at most {field.maximum:,}, not {value:,}"
    return "" if value >= field.minimum else f"must be at least {field.minimum}, not {value}"


def _too_few_or_many(count: int, field: Field) -> str:
    if count < (field.min_items or 0):
        return f"must have at least {field.min_items} items, not {count}"
    return _too_many(count, field.max_items)


def _repeated(field: Field, items: list[Any]) -> str:
    if field.list_type == "set" and len({*items}) < len(items):
        return "must not have the same item twice"
    keys = [tuple(item.get(name) for name in field.list_map_keys) for item in items if field.list_map_keys]
    twice = next((key for index, key in enumerate(keys) if key in keys[:index]), None)
    if twice is None:
        return ""
    return f"must not have two items with {', '.join(field.list_map_keys)} {', '.join(map(str, twice))}"


def _outside_of_text(field: Field, text: str) -> str:
    if field.max_length is not None and len(text) > field.max_length:
        return f"must have at most {field.max_length:,} characters, not {len(text):,}"
    if len(text) < (field.min_length or 0):
        return f"must have at least {field.min_length} characters, not {len(text)}"
    if field.pattern is not None and not schema_fields.matches(field.pattern, text):
        return f"must match {field.pattern}"
    allowed = [each.value for each in field.values]
    return f"must be one of {', '.join(allowed)}, not {text}" if allowed and text not in allowed else ""


def _too_many(count: int, limit: int | None) -> str:
    return f"must have at most {limit:,} items, not {count:,}" if limit is not None and count > limit else ""
