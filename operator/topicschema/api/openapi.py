"""The structural OpenAPI schema of a type of this package, for its CRD.

Descriptions and bounds are required: a field without a description, or a text, list or map without a limit, fails the
generation. (The API server estimates the cost of a CEL rule from these limits, and refuses a CRD without them.) A spec
has no defaults: an absent field stays absent. A status may have them, and then exists before its first write. Its enums
are texts with a pattern: a CRD that is one release older accepts a newer status.
"""

import dataclasses
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from topicschema.api.schema_fields import Amount, CelRule, Field
from topicschema.api.wire import wire_name

Json = dict[str, Any]

_ROOT: Json = {
    "apiVersion": {"description": "The version of the kind's schema.", "type": "string"},
    "kind": {"description": "The kind of this resource.", "type": "string"},
    "metadata": {"type": "object"},
}


_OPEN: Json = {"type": "string", "maxLength": 64, "pattern": "^[A-Za-z][A-Za-z0-9_]*$"}
"""An enum of a status."""


def root_schema(cls: Any) -> Json:
    """Return the schema of a whole resource: a dataclass with `metadata`, `spec` and perhaps `status`."""
    schema = _object(cls)
    if "status" in schema["properties"]:
        _open_enums(schema["properties"]["status"])
    schema["description"] = " ".join((cls.__doc__ or "").split())
    schema["properties"] = _ROOT | {key: value for key, value in schema["properties"].items() if key != "metadata"}
    schema["required"] = ["spec"]
    status = schema["properties"].get("status", {}).get("properties", {})
    defaults = {name: member["default"] for name, member in status.items() if "default" in member}
    if defaults:
        schema["properties"]["status"]["default"] = defaults
    return schema


def _open_enums(schema: Json) -> None:
    """Replace the enums of a status by texts."""
    if "enum" in schema:
        del schema["enum"]
        schema |= _OPEN
    for each in schema.get("properties", {}).values():
        _open_enums(each)
    for name in ("items", "additionalProperties"):
        if name in schema:
            _open_enums(schema[name])


def _object(cls: Any) -> Json:
    hints = get_type_hints(cls, include_extras=True)
    members = [field for field in dataclasses.fields(cls) if field.name != "metadata"]
    required = [wire_name(each.name) for each in members if _is_required(each, hints[each.name])]
    return (
        {"description": _first_sentence(cls), "type": "object"}
        | ({"required": required} if required else {})
        | {"properties": {wire_name(m.name): _member(f"{cls.__name__}.{m.name}", hints[m.name]) for m in members}}
        | _rules(getattr(cls, "RULES", ()))
    )


def _member(place: str, hint: Any) -> Json:
    schema = _value(place, hint)
    if not schema.get("description"):
        raise TypeError(f"{place} has no description")
    return schema


def _value(place: str, hint: Any) -> Json:
    annotation = Field()
    if get_origin(hint) is Annotated:
        hint, *notes = get_args(hint)
        annotation = next((note for note in notes if isinstance(note, Field)), annotation)
    described = {"description": annotation.description} if annotation.description else {}
    if annotation.is_opaque:
        return described | {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return described | _typed(place, hint, annotation) | described | _rules(annotation.rules)


def _typed(place: str, hint: Any, annotation: Field) -> Json:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is tuple:
        return _list(place, arguments[0], annotation)
    if origin is Mapping:
        items = _value(f"{place}[]", arguments[1])
        return (
            {"type": "object"}
            | _bound(place, "maxProperties", annotation.max_properties)
            | {"additionalProperties": items}
        )
    if arguments:  # Optional
        return _typed(place, arguments[0], annotation)
    if issubclass(hint, Enum):
        enum = {"enum": [member.value for member in annotation.values or hint]}
        if annotation.max_length is None:
            return {"type": "string"} | enum
        # A class rule refuses other values with a better message, which a plain enum would hide.
        return _text(place, annotation) | {"anyOf": [enum, {"minLength": 0}]}
    scalar = _SCALARS.get(hint)
    return scalar(place, annotation) if scalar else _object(hint)


def _list(place: str, item: Any, annotation: Field) -> Json:
    keys: Json = {"x-kubernetes-list-map-keys": list(annotation.list_map_keys)} if annotation.list_map_keys else {}
    keys |= {} if annotation.min_items is None else {"minItems": annotation.min_items}
    return (
        {"type": "array", "x-kubernetes-list-type": annotation.list_type}
        | keys
        | _bound(place, "maxItems", annotation.max_items)
        | {"items": _value(f"{place}[]", item)}
    )


def _text(place: str, annotation: Field) -> Json:
    bounds = {"minLength": annotation.min_length, "pattern": annotation.pattern, "format": annotation.format}
    present = {key: value for key, value in bounds.items() if value is not None}
    return {"type": "string"} | _bound(place, "maxLength", annotation.max_length) | present


_SCALARS: Mapping[type, Callable[[str, Field], Json]] = {
    str: _text,
    int: lambda _, annotation: (
        {"type": "integer", "format": "int64", "minimum": annotation.minimum}
        | ({} if annotation.maximum is None else {"maximum": annotation.maximum})
        | ({} if annotation.default is None else {"default": annotation.default})
    ),
    bool: lambda *_: {"type": "boolean"},
    Amount: lambda _, annotation: {"x-kubernetes-int-or-string": True, "pattern": annotation.pattern},
}


def _bound(place: str, name: str, limit: int | None) -> Json:
    if limit is None:
        raise TypeError(f"{place} has no {name}")
    return {name: limit}


def _rules(rules: tuple[CelRule, ...]) -> Json:
    return {"x-kubernetes-validations": [_rule(rule) for rule in rules]} if rules else {}


def _rule(rule: CelRule) -> Json:
    optional = {"messageExpression": rule.message_expression, "fieldPath": rule.path, "reason": rule.reason}
    return {"rule": rule.cel, "message": rule.message} | {key: value for key, value in optional.items() if value}


def _is_required(member: "dataclasses.Field[Any]", hint: Any) -> bool:
    notes = get_args(hint) if get_origin(hint) is Annotated else ()
    if any(isinstance(note, Field) and note.is_required for note in notes):
        return True
    return member.default is dataclasses.MISSING and member.default_factory is dataclasses.MISSING


def _first_sentence(cls: type) -> str:
    return " ".join((cls.__doc__ or "").split()).split(". ")[0].rstrip(".") + "."
