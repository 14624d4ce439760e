"""The OpenAPI document of the API, which the registry serves to known clients.

`python -m topicschema.registry.openapi FILE` writes it.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from topicschema import __version__
from topicschema.api.schemas import AVAILABLE_TYPES
from topicschema.core.schemas import SchemaType
from topicschema.core.strategies import Strategy
from topicschema.registry import namespace_settings

PATH: Final = "/openapi.json"
_SCHEMAS: Final = "/admin/v2/schemas/{tenant}/{namespace}/{topic}"
_NAMESPACES: Final = "/admin/v2/namespaces/{tenant}/{namespace}"
_REASON: Final = {
    "description": "Why not.",
    "content": {"application/json": {"schema": {"type": "object"}}, "text/plain": {}, "text/html": {}},
}
_NUMBER: Final = {"type": "integer", "format": "int64"}
_MEMBERS: Final = {
    "type": {"type": "string", "enum": [each.value for each in SchemaType]},
    "properties": {"type": "object", "additionalProperties": {"type": "string"}},
}
_PAYLOAD: Final = {
    "type": "object",
    "required": ["type", "schema"],
    "properties": {**_MEMBERS, "type": {"type": "string", "enum": list(AVAILABLE_TYPES)}, "schema": {"type": "string"}},
}
_VERSION: Final = {
    "type": "object",
    "required": ["version", "type", "timestamp", "data", "properties"],
    "properties": {**_MEMBERS, "version": _NUMBER, "timestamp": _NUMBER, "data": {"type": "string"}},
}
_NUMBERED: Final = {"type": "object", "required": ["version"], "properties": {"version": _NUMBER}}
_OF_SETTINGS: Final = {"type": "boolean"}


def _object(**members: Any) -> dict[str, Any]:
    return {"type": "object", "required": list(members), "properties": members}


def _parameter(name: str, where: str = "path", kind: str = "string") -> dict[str, Any]:
    return {"name": name, "in": where, "required": where == "path", "schema": {"type": kind}}


def _call(
    summary: str, answers: Mapping[int, Any], *parameters: Mapping[str, Any], body: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    call: dict[str, Any] = {"summary": summary, "parameters": list(parameters), "responses": {"default": _REASON}}
    for status, schema in answers.items():
        content = {} if schema is None else {"content": {"application/json": {"schema": schema}}}
        call["responses"][str(status)] = {"description": summary, **content}
    if body is not None:
        call["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
    return call


def document() -> dict[str, Any]:
    """Return the document, OpenAPI 3.1. Each path may also follow a SchemaRegistry: `/{registry}/admin/...`."""
    topic = [_parameter(name) for name in ("tenant", "namespace", "topic")]
    several = _object(getSchemaResponses={"type": "array", "items": _VERSION})
    entry = _object(ledgerId=_NUMBER, entryId=_NUMBER, version=_NUMBER)
    entries = _object(info=entry, index={"type": "array", "items": entry})
    compatible = _object(
        schemaCompatibilityStrategy={"type": "string", "enum": [each.value for each in Strategy]},
        compatibility={"type": "boolean"},
    )
    force = _parameter("force", "query", "boolean")
    paths = {
        "schema": {
            "get": _call("Get the newest version.", {200: _VERSION}, *topic),
            "post": _call(
                "Register a schema.", {200: _object(version=_NUMBERED), 202: _object(reason={"type": "string"})},
                *topic, body=_PAYLOAD,
            ),
            "delete": _call("Delete all versions.", {200: _NUMBERED}, *topic, force),
        },
        "schema/{version}": {
            "get": _call("Get a version.", {200: _VERSION}, *topic, _parameter("version", kind="integer"))
        },
        "schemas": {"get": _call("Get all versions.", {200: several}, *topic)},
        "metadata": {"get": _call("Get the numbers of all entries, or an empty body.", {200: entries}, *topic)},
        "compatibility": {"post": _call("Ask if a schema is compatible.", {202: compatible}, *topic, body=_PAYLOAD)},
        "version": {"post": _call("Get the number of a schema, or -1.", {200: _NUMBERED}, *topic, body=_PAYLOAD)},
    }  # fmt: skip
    documented = {f"{_SCHEMAS}/{call}": methods for call, methods in paths.items()}
    for setting, method in namespace_settings.SETTINGS.items():
        is_strategy = method == "PUT"
        value = {"type": "string", "enum": [each.value for each in Strategy]} if is_strategy else _OF_SETTINGS
        documented[f"{_NAMESPACES}/{setting.value}"] = {
            "get": _call("Get the setting.", {200: value}, *topic[:2]),
            method.lower(): _call("Set it in the policy.", {204: None}, *topic[:2], body=value),
        }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Pulsar's admin REST API of schemas, by topicschema", "version": __version__},
        "security": [{"bearer": []}],
        "components": {"securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}}},
        "paths": documented,
    }


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(document(), indent=1) + "\n", encoding="utf-8")
