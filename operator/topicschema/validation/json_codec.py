"""Frozen dataclasses as JSON objects and back, strictly: camelCase members, no unknown ones, each of its field's type.

The types that fields may have are those that `_READERS` and `_read` know; SchemaInfo is told apart because its bytes
need not be text.
"""

import base64
import binascii
import re
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import StrEnum
from typing import Any, Final, TypeVar

from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.validation.errors import InvalidQuestionError

T = TypeVar("T")
_WORDS: Final = re.compile(r"_([a-z])")


def written(value: Any) -> Any:
    """The JSON value of a dataclass or of what its fields hold; members that are None are left out."""
    if isinstance(value, SchemaInfo):
        return _written_schema(value)
    if is_dataclass(value) and not isinstance(value, type):
        members = {_camel(each.name): written(getattr(value, each.name)) for each in fields(value)}
        return {name: each for name, each in members.items() if each is not None}
    if isinstance(value, Mapping):
        return {str(name): written(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [written(each) for each in value]
    return value


def read(kind: type[T], value: Any, path: str) -> T:
    """The dataclass that a JSON object says; InvalidQuestionError names the member that is not as it must be."""
    members = _object(value, path)
    hints = typing.get_type_hints(kind)
    known = {_camel(each.name): each for each in fields(typing.cast("Any", kind))}
    for name in members:
        if name not in known:
            raise InvalidQuestionError(f"{path}.{name} is not known")
    given: dict[str, Any] = {}
    for name, each in known.items():
        if name in members:
            given[each.name] = _read(hints[each.name], members[name], f"{path}.{name}")
        elif each.default is MISSING and each.default_factory is MISSING:
            raise InvalidQuestionError(f"{path}.{name} is missing")
    try:
        return kind(**given)
    except ValueError as error:
        raise InvalidQuestionError(f"{path}: {error}") from None


def _read(hint: Any, value: Any, path: str) -> Any:
    origin = typing.get_origin(hint)
    if origin in (types.UnionType, typing.Union):
        (inner,) = (each for each in typing.get_args(hint) if each is not types.NoneType)
        return None if value is None else _read(inner, value, path)
    if origin is not None and issubclass(origin, Mapping):
        key, each = typing.get_args(hint)
        return {
            _key(key, name, path): _read(each, inner, f"{path}.{name}") for name, inner in _object(value, path).items()
        }
    if origin is tuple:
        return tuple(_read(typing.get_args(hint)[0], each, f"{path}[{n}]") for n, each in enumerate(_list(value, path)))
    if hint in _READERS:
        return _READERS[hint](value, path)
    if issubclass(hint, StrEnum):
        return _named(hint, value, path)
    return read(hint, value, path)


def _key(hint: Any, name: str, path: str) -> Any:
    if hint is str:
        return name
    if not re.fullmatch(r"0|[1-9][0-9]{0,18}", name):
        raise InvalidQuestionError(f"{path}.{name[:40]}: a number is needed as the member's name")
    return int(name)


def _object(value: Any, path: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidQuestionError(f"{path} must be a JSON object")
    return value


def _list(value: Any, path: str) -> list[Any]:
    if not isinstance(value, list):
        raise InvalidQuestionError(f"{path} must be an array")
    return value


def _text(value: Any, path: str) -> str:
    if not isinstance(value, str):
        raise InvalidQuestionError(f"{path} must be a text")
    return value


def _number(value: Any, path: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidQuestionError(f"{path} must be a whole number")
    return value


def _truth(value: Any, path: str) -> bool:
    if not isinstance(value, bool):
        raise InvalidQuestionError(f"{path} must be true or false")
    return value


def _named(names: type[StrEnum], value: Any, path: str) -> StrEnum:
    try:
        return names(_text(value, path))
    except ValueError:
        raise InvalidQuestionError(f"{path} must be one of {', '.join(names)}") from None


def _written_schema(info: SchemaInfo) -> dict[str, Any]:
    members: dict[str, Any] = {"type": info.type.value}
    try:
        members["schema"] = info.schema.decode()
    except UnicodeDecodeError:
        members["schemaBase64"] = base64.b64encode(info.schema).decode()
    return members | ({"properties": dict(info.properties)} if info.properties else {})


def _schema(value: Any, path: str) -> SchemaInfo:
    members = _object(value, path)
    for name in members:
        if name not in {"type", "schema", "schemaBase64", "properties"}:
            raise InvalidQuestionError(f"{path}.{name} is not known")
    kind = _named(SchemaType, members.get("type"), f"{path}.type")
    properties = _read(Mapping[str, str], members.get("properties", {}), f"{path}.properties")
    return SchemaInfo(SchemaType(kind), _schema_bytes(members, path), properties)


def _schema_bytes(members: Mapping[str, Any], path: str) -> bytes:
    if "schemaBase64" not in members:
        return _text(members.get("schema"), f"{path}.schema").encode(errors="surrogatepass")
    if "schema" in members:
        raise InvalidQuestionError(f"{path} has both schema and schemaBase64")
    try:
        return base64.b64decode(_text(members["schemaBase64"], f"{path}.schemaBase64"), validate=True)
    except binascii.Error:
        raise InvalidQuestionError(f"{path}.schemaBase64 is not base64") from None


def _camel(name: str) -> str:
    return _WORDS.sub(lambda found: found[1].upper(), name)


_READERS: Final[Mapping[Any, Callable[[Any, str], Any]]] = types.MappingProxyType(
    {str: _text, int: _number, bool: _truth, SchemaInfo: _schema}
)
