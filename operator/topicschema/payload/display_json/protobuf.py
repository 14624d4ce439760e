"""Values of protobuf messages as JSON, and back. Names are those of the .proto, an enum's value is its name or number.

Unlike protobuf's own JSON, fields keep their names (no camel case), 64-bit numbers are numbers, and well-known types
are messages like others.
"""

import re
from collections.abc import Callable
from typing import Any, Final

from topicschema.core.formats.avro.graph.trampoline import Computation, run
from topicschema.core.formats.protobuf_native import Kind
from topicschema.core.schemas import Schema
from topicschema.payload import protobuf_native
from topicschema.payload.codec import refused, wrong_type
from topicschema.payload.display_json import primitives
from topicschema.payload.path import MapEntry, Path, shown
from topicschema.payload.protobuf_native import FieldPlan, MessagePlan, kinds
from topicschema.payload.protobuf_native.wire import MAX_DEPTH

_KEYS: Final = {"true": True, "false": False}
_NUMBER: Final = re.compile(r"-?[0-9]{1,20}")


def to_json(schema: Schema, value: Any) -> Any:
    """Return the JSON of a message, its fields in the order of their numbers."""
    return run(_Form(_leaf_out, _key_out).message(protobuf_native.plan_of(schema), value, None))


def of_json(schema: Schema, value: Any) -> Any:
    """Return the message. The codec refuses unknown names."""
    return run(_Form(_leaf_in, _key_in).message(protobuf_native.plan_of(schema), value, None))


_Leaf = Callable[[FieldPlan, Any, Path], Any]


class _Form:
    """Conversion of a message and its value: single values by `leaf`, a map's keys by `key`."""

    def __init__(self, leaf: _Leaf, key: _Leaf) -> None:
        self._leaf = leaf
        self._key = key
        self._depth = 0

    def message(self, plan: MessagePlan, value: Any, path: Path | None) -> Computation[dict[str, Any]]:
        if not isinstance(value, dict):
            raise wrong_type("an object for a message", value, shown(path))
        if self._depth > MAX_DEPTH:
            raise refused("TOO_DEEP", f"messages are nested more than {MAX_DEPTH} levels deep", shown(path))
        self._depth += 1
        converted: dict[str, Any] = {}
        for field in plan.written:
            if value.get(field.name) is not None:
                converted[field.name] = yield self._field(field, value[field.name], (path, field.name))
        self._depth -= 1
        return {**converted, **{name: each for name, each in value.items() if name not in converted}}

    def _field(self, field: FieldPlan, value: Any, path: Path) -> Computation[Any]:
        if field.pair is not None:
            return (yield self._map(field.pair, value, path))
        if not field.is_repeated:
            return (yield self._one(field, value, path))
        if not isinstance(value, list):
            raise wrong_type("an array for a repeated field", value, shown(path))
        converted = []
        for index, each in enumerate(value):
            converted.append((yield self._one(field, each, (path, index))))
        return converted

    def _map(self, pair: MessagePlan, value: Any, path: Path) -> Computation[dict[Any, Any]]:
        if not isinstance(value, dict):
            raise wrong_type("an object for a map", value, shown(path))
        key, held = pair.read[1], pair.read[2]
        converted: dict[Any, Any] = {}
        for number, (name, each) in enumerate(value.items()):
            below = (path, MapEntry(number))
            converted[self._key(key, name, below)] = yield self._one(held, each, below)
        return converted

    def _one(self, field: FieldPlan, value: Any, path: Path) -> Computation[Any]:
        if field.message_name:
            return (yield self.message(field.message, value, path))
        return self._leaf(field, value, path)


def _leaf_out(field: FieldPlan, value: Any, path: Path) -> Any:
    del path
    if field.kind is Kind.BYTES:
        return primitives.bytes_text(value)
    return primitives.number_text(value) if field.kind in kinds.FLOATS else value


def _leaf_in(field: FieldPlan, value: Any, path: Path) -> Any:
    if field.kind is Kind.BYTES:
        return primitives.bytes_of(value, shown(path))
    return primitives.number(value) if field.kind in kinds.FLOATS else value


def _key_out(field: FieldPlan, value: Any, path: Path) -> str:
    del field, path
    return str(value).lower() if isinstance(value, bool) else str(value)


def _key_in(field: FieldPlan, value: Any, path: Path) -> Any:
    if field.kind is Kind.STRING:
        return value
    if field.kind is Kind.BOOL:
        return _KEYS.get(value, value)
    if not _NUMBER.fullmatch(value):
        raise refused("WRONG_TYPE", "the map's keys are whole numbers", shown(path))
    return int(value)
