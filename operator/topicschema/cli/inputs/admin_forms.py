"""Schemas in the forms of Pulsar's admin tools, which have type and properties beside the schema.

These are the file of `pulsar-admin schemas upload`, the output of `schemas get`, and the answers of the REST API to
`GET .../schema` and `GET .../schemas`, each also as YAML.
"""

import json
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any, Final

from topicschema.cli.inputs import files
from topicschema.cli.inputs.files import UsageError
from topicschema.core.schemas import SchemaInfo, SchemaType

YAML_SUFFIXES: Final = frozenset({".yaml", ".yml"})
_MARKS: Final = (b"schema", b"data")


def versions(name: str, content: bytes) -> list[SchemaInfo]:
    """Return the schemas, oldest first, in the form of the REST API. Return none if the file has another form.

    Raises UsageError if a member cannot be read.
    """
    if not any(each in content for each in _MARKS):
        return []
    forms = list(_forms(_value(name, content)))
    if all("version" in form for form, _ in forms):
        forms.sort(key=lambda each: str(each[0]["version"]).zfill(20))
    return [_info(files.shown(name), schema) for _, schema in forms]


def _value(name: str, content: bytes) -> Any:
    try:
        if PurePath(name).suffix not in YAML_SUFFIXES:
            return json.loads(content)
        from topicschema.cli.inputs import go_yaml  # noqa: PLC0415  # only for YAML

        roots = list(go_yaml.documents(go_yaml.decoded(content)))
    except (ValueError, RecursionError):
        return None
    return roots[0].value if len(roots) == 1 else None


def _forms(value: Any) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield the object of each version, and the one in it that has the schema."""
    if isinstance(value, dict) and isinstance(value.get("getSchemaResponses"), list):
        value = value["getSchemaResponses"]
    each = value if isinstance(value, list) else [value]
    pairs = [(form, form.get("schemaInfo", form)) for form in each if isinstance(form, dict)]
    if len(pairs) == len(each) and all(_is_schema(schema) for _, schema in pairs):
        yield from pairs


def _is_schema(value: Any) -> bool:
    """Return True if this is no schema of Avro: those have no type of Pulsar, whose names are in capitals."""
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return False
    return value["type"] in SchemaType.__members__ and ("schema" in value or "data" in value)


def _info(shown: str, value: dict[str, Any]) -> SchemaInfo:
    text, properties = value.get("schema", value.get("data")), value.get("properties") or {}
    if isinstance(text, dict | list):  # `schemas get` prints the JSON itself
        text = json.dumps(text, ensure_ascii=False, separators=(",", ":"))
    if not isinstance(text, str | None):
        raise UsageError(f"{shown}: its schema must be a text or an object")
    if not isinstance(properties, dict) or not all(isinstance(each, str) for each in properties.values()):
        raise UsageError(f"{shown}: its properties must be an object of texts")
    return SchemaInfo(SchemaType(value["type"]), (text or "").encode(errors="surrogatepass"), properties)
