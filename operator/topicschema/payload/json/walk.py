"""Walk of a schema and a value side by side. JSON to Python and back differ only in the single values."""

from collections.abc import Callable
from dataclasses import dataclass
from types import GeneratorType
from typing import Any

from topicschema.core.formats import json_text
from topicschema.core.formats.avro.graph.trampoline import Computation
from topicschema.core.formats.avro.model import ABSENT, Array, Field, Map, Node, Primitive, Record, Union
from topicschema.payload.codec import HOLDERS
from topicschema.payload.path import MapEntry, Path


@dataclass(frozen=True, slots=True)
class Misfit:
    """Reason why a value does not fit its schema.

    `is_tolerated` is that of a Finding. `names` are those of unknown fields.
    """

    rule: str
    message: str
    is_tolerated: bool = False
    names: frozenset[str] = frozenset()


class Walk:
    """Conversion of values, by `leaf` those that hold no others. A misfit is passed to `report` and becomes None.

    `refusal` returns the misfit of a value that the type takes and a consumer does not, or None.
    """

    def __init__(
        self,
        leaf: Callable[[Node, Any], Any],
        report: Callable[[Misfit, Path | None], None],
        *,
        refusal: Callable[[Node, Any], Misfit | None] | None = None,
        leaves_out_null: bool = False,
    ) -> None:
        self._depth = 0
        self._leaf = leaf
        self._refusal = refusal
        self._report = report
        self._leaves_out_null = leaves_out_null

    def whole(self, root: Node, value: Any) -> Computation[Any]:
        """Return the converted value."""
        converted = self._begin(root, value, None)
        return (yield converted) if isinstance(converted, GeneratorType) else converted

    def _begin(self, node: Node, value: Any, path: Path | None) -> Any:
        """Return the converted value, or the step that converts it if it holds others."""
        if isinstance(node, Union):
            branch = self.branch(node, value)
            if branch is None:
                return self._misfit(Misfit("NO_BRANCH", "no branch of the union takes such a value"), path)
            node = branch
        if value is None and not _is_null(node):
            return self._misfit(Misfit("UNEXPECTED_NULL", "null is not allowed here", is_tolerated=True), path)
        if isinstance(node, HOLDERS) and isinstance(value, list if isinstance(node, Array) else dict):
            refused = self._refusal(node, value) if self._refusal else None
            return self._misfit(refused, path) if refused else self._inside(node, value, path)
        converted = self._single(node, value)
        return self._misfit(converted, path) if isinstance(converted, Misfit) else converted

    def _inside(self, node: Record | Array | Map, value: Any, path: Path | None) -> Computation[Any]:
        self._depth += 1
        if self._depth > json_text.MAX_DEPTH:  # no JSON reader returns such a value, but a writer may have one
            return self._misfit(Misfit("TOO_DEEP", "the value is nested deeper than JSON readers go"), path)
        if isinstance(node, Record):
            converted: Any = yield self._record(node, value, path)
        else:
            converted = yield (
                self._array(node, value, path) if isinstance(node, Array) else self._map(node, value, path)
            )
        self._depth -= 1
        return converted

    def _record(self, node: Record, value: dict[str, Any], path: Path | None) -> Computation[dict[str, Any]]:
        record: dict[str, Any] = {}
        for field in node.fields:
            below = (path, field.name)
            converted = None
            if field.name in value:
                begun = self._begin(field.type, value[field.name], below)
                converted = (yield begun) if isinstance(begun, GeneratorType) else begun
            elif not may_be_absent(field):
                self._report(Misfit("MISSING_FIELD", "the field is required", is_tolerated=True), below)
            if converted is not None or not self._leaves_out_null:
                record[field.name] = converted
        unknown = frozenset(value.keys() - {field.name for field in node.fields})
        if unknown:
            message = f"fields that are not in the schema: {len(unknown)}"
            self._report(Misfit("UNKNOWN_FIELD", message, is_tolerated=True, names=unknown), path)
        return record

    def _array(self, node: Array, value: list[Any], path: Path | None) -> Computation[list[Any]]:
        values = []
        for index, each in enumerate(value):
            begun = self._begin(node.items, each, (path, index))
            values.append((yield begun) if isinstance(begun, GeneratorType) else begun)
        return values

    def _map(self, node: Map, value: dict[Any, Any], path: Path | None) -> Computation[dict[str, Any]]:
        values: dict[str, Any] = {}
        for number, (key, each) in enumerate(value.items()):
            if not isinstance(key, str):
                self._report(Misfit("WRONG_TYPE", "the keys of a map are texts"), path)
                continue
            begun = self._begin(node.values, each, (path, MapEntry(number, key)))
            values[key] = (yield begun) if isinstance(begun, GeneratorType) else begun
        return values

    def branch(self, union: Union, value: Any) -> Node | None:
        """Return the only branch, or the first that fits, or else the first that fits except for a record's fields."""
        nulls = [branch for branch in union.branches if _is_null(branch)]
        others = [branch for branch in union.branches if not _is_null(branch)]
        if value is None and nulls:
            return nulls[0]
        if len(others) == 1:
            return others[0]
        fitting = [branch for branch in others if self._fits(branch, value)]
        return next((each for each in fitting if _has_fields(each, value)), fitting[0] if fitting else None)

    def _fits(self, branch: Node, value: Any) -> bool:
        if isinstance(branch, Array):
            return isinstance(value, list)
        if isinstance(branch, Record | Map):
            return isinstance(value, dict)
        return not isinstance(self._single(branch, value), Misfit)

    def _single(self, node: Node, value: Any) -> Any:
        """Return the converted value, which holds no others, or its misfit."""
        converted = self._leaf(node, value)
        if self._refusal is None or isinstance(converted, Misfit):
            return converted
        return self._refusal(node, value) or converted

    def _misfit(self, misfit: Misfit, path: Path | None) -> Any:
        self._report(misfit, path)


def _has_fields(branch: Node, value: Any) -> bool:
    """Return True if a record's fields are the object's: none unknown, no required one missing."""
    if not isinstance(branch, Record):
        return True
    names = {field.name for field in branch.fields}
    return value.keys() <= names and all(each.name in value or may_be_absent(each) for each in branch.fields)


def may_be_absent(field: Field) -> bool:
    """Return True if the field may be missing: Jackson omits null, and an absent field gets the class's default."""
    branches = field.type.branches if isinstance(field.type, Union) else (field.type,)
    return field.default is not ABSENT or any(map(_is_null, branches))


def _is_null(node: Node) -> bool:
    return isinstance(node, Primitive) and node.kind == "null"
