"""The changes from one schema to another, by place."""

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from google.protobuf import descriptor_pb2, json_format
from google.protobuf.message import DecodeError

from topicschema.cli.check.excerpt import printable
from topicschema.cli.topics import text_of
from topicschema.core.schemas import SchemaInfo, SchemaType

_ABSENT: Final = object()
_MARKS: Final = {"added": "+", "removed": "-", "changed": "~"}
_LONGEST: Final = 60
_Items = dict[str, tuple[int, Any]]


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """A change. `path` is a JSON path from `$`: that of the later schema, or of the earlier one for a removed part.

    `name` is the name of a part that has one, for instance of a field. A part may be missing on one side.
    """

    path: str
    change: str
    name: str = ""
    before: Any = _ABSENT
    after: Any = _ABSENT

    def __str__(self) -> str:
        """Return the line of the change, without control characters."""
        shown = [_shown(each) for each in (self.before, self.after) if each is not _ABSENT]
        name = f" {self.name}" if self.name else ""
        return printable(f"{_MARKS[self.change]} {self.path}{name}: {' -> '.join(shown)}")

    @property
    def wire(self) -> dict[str, Any]:
        """The change as JSON. A part that is missing on one side has no member there, and null is a value."""
        name = {"name": self.name} if self.name else {}
        sides = {"before": self.before, "after": self.after}
        present = {key: value for key, value in sides.items() if value is not _ABSENT}
        return {"path": self.path, "change": self.change, **name, **present}


def changes(before: SchemaInfo, after: SchemaInfo) -> list[SchemaChange]:
    """Return the changes, in the order of the later schema. Members with names are compared by their names."""
    pairs = [("$", _tree(before), _tree(after)), ("properties", dict(before.properties), dict(after.properties))]
    if before.type is not after.type:
        pairs.insert(0, ("type", before.type.value, after.type.value))
    return [each for path, one, other in pairs if one is not other for each in _between(path, one, other)]


def _tree(info: SchemaInfo) -> Any:
    """Return the schema as JSON: that of a PROTOBUF_NATIVE has its descriptors. A text that is no JSON stays a text."""
    text = text_of(info)
    try:
        tree = json.loads(text)
        return _with_descriptors(tree) if info.type is SchemaType.PROTOBUF_NATIVE else tree
    except (ValueError, RecursionError, KeyError, TypeError):
        return text or _ABSENT


def _with_descriptors(envelope: dict[str, Any]) -> dict[str, Any]:
    content = base64.b64decode(envelope["fileDescriptorSet"])
    try:
        files = descriptor_pb2.FileDescriptorSet.FromString(content).file
    except DecodeError as error:
        raise ValueError(str(error)) from None
    return {**envelope, "fileDescriptorSet": [json_format.MessageToDict(each) for each in files]}


def _between(path: str, before: Any, after: Any) -> Iterator[SchemaChange]:
    stack = [(path, "", before, after)]
    while stack:
        path, name, one, other = stack.pop()
        if one is _ABSENT:
            yield SchemaChange(path, "added", name, after=other)
        elif other is _ABSENT:
            yield SchemaChange(path, "removed", name, before=one)
        elif isinstance(one, dict) and isinstance(other, dict):
            keys = dict.fromkeys((*other, *one))
            members = [(f"{path}.{key}", "", one.get(key, _ABSENT), other.get(key, _ABSENT)) for key in keys]
            stack += reversed(members)
        elif (items := _by_name(one)) is None or (others := _by_name(other)) is None:
            if _exact(one) != _exact(other):
                yield SchemaChange(path, "changed", name, one, other)
        else:
            if [each for each in items if each in others] != [each for each in others if each in items]:
                yield SchemaChange(path, "changed", "order", list(items), list(others))
            stack += reversed(list(_items(path, items, others)))


def _exact(value: Any) -> str:
    """Return the value as text: 1, 1.0 and true differ, and the order of an object's members does not count."""
    return json.dumps(value, sort_keys=True)


def _items(path: str, before: _Items, after: _Items) -> Iterator[tuple[str, str, Any, Any]]:
    """Yield the items of two lists, matched by their names."""
    for key in dict.fromkeys((*after, *before)):
        number, _ = after.get(key) or before[key]
        one, other = (each[key][1] if key in each else _ABSENT for each in (before, after))
        item = one if other is _ABSENT else other
        yield f"{path}[{number}]", key if isinstance(item, dict) else "", one, other


def _by_name(value: Any) -> _Items | None:
    """Return the positions and the items of a list by their names, or None if it is no list of items with names."""
    if not isinstance(value, list):
        return None
    named = {_name_of(each): (number, each) for number, each in enumerate(value)}
    return named if len(named) == len(value) and "" not in named else None


def _name_of(item: Any) -> str:
    if isinstance(item, dict):
        item = item.get("name", item.get("type"))
    return item if isinstance(item, str) else ""


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
