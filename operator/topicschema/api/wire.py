"""Conversion between JSON and frozen dataclasses, mainly those of this package: `decode`, `decode_status`, `encode`.

Reads trust nothing: an object may be older than its CRD, or stored without it. `core` interprets the values and checks
if they fit together, or a class does: a ValueError of its `__post_init__` is reported with the place. `crds` makes the
CRDs from the same types.
"""

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import cache, partial
from types import NoneType
from typing import Annotated, Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from topicschema.api.schema_fields import LENIENT, Amount
from topicschema.core.errors import StalledError
from topicschema.core.reasons import Reason

T = TypeVar("T")
_Read = Callable[[Any], Any]
_INT64 = 2**63
_NUMBER = re.compile("0|[1-9][0-9]{0,17}")
_SHOWN = 40  # characters of a wrong value or key that an error may repeat


class _MisfitError(Exception):
    """The JSON does not fit. `steps` is the place, innermost first; each caller appends its step."""

    def __init__(self, why: str, *steps: str) -> None:
        super().__init__(why)
        self.why = why
        self.steps = list(steps)

    def path(self, root: str) -> str:
        return (root + "".join(reversed(self.steps))).removeprefix(".")


class _Field(NamedTuple):
    attribute: str
    key: str
    read: _Read
    is_required: bool


def decode(cls: type[T], wire: object, path: str = "") -> T:
    """Return the value of type `cls` in `wire` (parsed JSON). `path` is the place of `wire` itself.

    Unknown members are ignored, null means absent. Raises StalledError(InvalidResource) whose message begins with the
    place, for instance `spec.properties[owner]: must be a text, not a list`. It raises no other exception, whatever the
    JSON.
    """
    hint: Any = cls
    try:
        value: T = _reader(hint)(wire)
    except _MisfitError as error:
        place = error.path(path)
        raise StalledError(Reason.INVALID_RESOURCE, f"{place}: {error.why}" if place else error.why) from None
    return value


def unknown_members(cls: Any, wire: object, path: str) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield each member in `wire` that its type does not have: the parent's place, the name, and the known names.

    `decode` ignores them, because an object may be newer than this code. The API server refuses them.
    """
    hint: Any = cls
    while get_origin(hint) is Annotated or NoneType in get_args(hint):
        hint = get_args(hint)[0]
    if isinstance(wire, list) and get_origin(hint) is tuple:
        for index, item in enumerate(wire):
            yield from unknown_members(get_args(hint)[0], item, f"{path}[{index}]")
    elif isinstance(wire, dict) and get_origin(hint) is Mapping:
        for key, member in wire.items():
            yield from unknown_members(get_args(hint)[1], member, f"{path}[{key}]")
    elif isinstance(wire, dict) and dataclasses.is_dataclass(hint):
        yield from _unknown_members_of_object(hint, wire, path)


def _unknown_members_of_object(cls: Any, wire: dict[str, Any], path: str) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    known = members(cls)
    for key, member in wire.items():
        if key in known:
            yield from unknown_members(known[key], member, f"{path}.{key}")
        else:
            yield path, key, tuple(known)


@cache
def members(cls: Any) -> Mapping[str, Any]:
    """Return the type hints of an object's members, by their names on the wire."""
    hints = get_type_hints(cls, include_extras=True)
    return {wire_name(each.name): hints[each.name] for each in dataclasses.fields(cls)}


def decode_status(cls: type[T], wire: object) -> T:
    """Return the status in `wire`, or the empty one if it cannot be read: a status is never a reason to stop."""
    try:
        return decode(cls, wire)
    except StalledError:
        return cls()


def encode(value: Any) -> Any:
    """Return the JSON of `value`: members in camelCase, enums by value, None left out. Empty lists and objects stay.

    Bytes are text; those that are no UTF-8 become halves of surrogate pairs.
    """
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, str | int):
        return value
    if isinstance(value, bytes):
        return value.decode(errors="surrogateescape")
    if isinstance(value, tuple | list):
        return [encode(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): encode(item) for key, item in value.items()}
    cls: Any = type(value)
    present = ((field.key, getattr(value, field.attribute)) for field in _fields(cls))
    return {key: encode(member) for key, member in present if member is not None}


def wire_name(attribute: str) -> str:
    """Return an attribute's name on the wire: `schema_version` is `schemaVersion`, `admin_url` is `adminURL`."""
    first, *others = attribute.split("_")
    return first + "".join(word.upper() if word in {"id", "url"} else word.capitalize() for word in others)


@cache
def _fields(cls: Any) -> tuple[_Field, ...]:
    hints = get_type_hints(cls, include_extras=True)
    return tuple(
        _Field(
            field.name,
            wire_name(field.name),
            _reader(hints[field.name]),
            field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING,
        )
        for field in dataclasses.fields(cls)
    )


@cache
def _reader(hint: Any) -> _Read:
    """Return the reader of values of that type hint, which is made once per type."""
    if isinstance(hint, type):
        return _reader_of_class(hint)
    origin, (inner, *others) = get_origin(hint), get_args(hint)
    if origin is Annotated and LENIENT in others:
        return partial(decode_status, inner)
    if origin is tuple:
        return partial(_read_list, _reader(inner))
    if origin is Mapping:
        return partial(_read_map, _read_number if inner is int else _read_text, _reader(others[0]))
    return _reader(inner)  # Annotated and Optional: null is absent, whatever the type


def _reader_of_class(cls: Any) -> _Read:
    if issubclass(cls, Enum):
        return partial(_read_enum, {member.value: member for member in cls})
    return _SCALARS.get(cls) or partial(_read_object, cls, _fields(cls))


def _read_object(cls: Any, fields: tuple[_Field, ...], wire: Any) -> Any:
    if not isinstance(wire, dict):
        raise _misfit("an object", wire)
    values = {}
    for attribute, key, read, is_required in fields:
        member = wire.get(key)
        if member is not None:
            try:
                values[attribute] = read(member)
            except _MisfitError as error:
                error.steps.append(f".{key}")
                raise
        elif is_required:
            raise _MisfitError("is required", f".{key}")
    try:
        return cls(**values)
    except ValueError as error:
        raise _MisfitError(str(error)) from None


def _read_list(read: _Read, wire: Any) -> tuple[Any, ...]:
    if not isinstance(wire, list):
        raise _misfit("a list", wire)
    values = []
    for item in wire:
        try:
            values.append(read(item))
        except _MisfitError as error:
            error.steps.append(f"[{len(values)}]")
            raise
    return tuple(values)


def _read_map(read_key: _Read, read: _Read, wire: Any) -> dict[Any, Any]:
    if not isinstance(wire, dict):
        raise _misfit("an object", wire)
    values = {}
    for key, member in wire.items():
        try:
            name = read_key(key)
            values[name] = read(member)
        except _MisfitError as error:
            error.steps.append(f"[{_shown(key)}]")
            raise
    return values


def _read_enum(members: Mapping[str, Enum], wire: Any) -> Enum:
    if not isinstance(wire, str):
        raise _misfit("a text", wire)
    member = members.get(wire)
    if member is None:
        right = next((each for each in members if each.casefold() == wire.casefold()), None)
        why = f"must be one of {', '.join(members)}" if right is None else f"write {right}"
        raise _MisfitError(f"{why}, not {_shown(wire)!r}")
    return member


def _read_text(wire: Any) -> str:
    if not isinstance(wire, str):
        raise _misfit("a text", wire)
    if not wire.isascii() and any("\ud800" <= character <= "\udfff" for character in wire):
        raise _MisfitError("must be Unicode text; it has half of a surrogate pair")
    return wire


def _read_number(key: Any) -> int:
    if not isinstance(key, str) or not _NUMBER.fullmatch(key):
        raise _MisfitError("must be named by a number")
    return int(key)


def _read_bytes(wire: Any) -> bytes:
    if not isinstance(wire, str):
        raise _misfit("a text", wire)
    try:
        return wire.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        raise _MisfitError("must be Unicode text; it has half of a surrogate pair") from None


def _read_whole_number(wire: Any) -> int:
    if isinstance(wire, bool) or not isinstance(wire, int):
        raise _misfit("a whole number", wire)
    if not -_INT64 <= wire < _INT64:
        raise _MisfitError("must be a whole number of 64 bits")
    return wire


def _read_truth(wire: Any) -> bool:
    if not isinstance(wire, bool):
        raise _misfit("true or false", wire)
    return wire


_SCALARS: Mapping[type, _Read] = {
    str: _read_text,
    bytes: _read_bytes,
    int: _read_whole_number,
    bool: _read_truth,
    Amount: lambda wire: Amount(wire if isinstance(wire, int) and not isinstance(wire, bool) else _read_text(wire)),
}
_JSON_NAMES = {dict: "an object", list: "a list", str: "a text", bool: "a truth value", NoneType: "null"}


def _misfit(expected: str, wire: Any) -> _MisfitError:
    return _MisfitError(f"must be {expected}, not {_JSON_NAMES.get(type(wire), 'a number')}")


def _shown(text: Any) -> str:
    """Return the beginning of an untrusted text of any content, escaped for output."""
    if not isinstance(text, str):
        return "?"
    return ascii(text[:_SHOWN])[1:-1] + ("..." if len(text) > _SHOWN else "")
