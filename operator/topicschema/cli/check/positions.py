"""Positions in a manifest: the line and column of its file for a field, or for a place in its schema."""

from collections.abc import Iterator

from topicschema.api.kinds import TOPIC_SCHEMA
from topicschema.cli.check.excerpt import Excerpts
from topicschema.cli.check.resources import Manifest
from topicschema.cli.inputs import go_yaml
from topicschema.core.errors import InvalidSchemaError, Place, StalledError
from topicschema.core.formats import json_text
from topicschema.core.formats.key_value import Side
from topicschema.judging import schema_source


class ManifestExcerpts:
    """Excerpts of a manifest's file."""

    def __init__(self, manifest: Manifest) -> None:
        self._manifest = manifest
        self._text = _text(manifest)

    def at(self, place: Place) -> Iterator[str]:
        """Yield the lines of the excerpt at a place in the schema, or at a field of the resource."""
        line, column = position(self._manifest, place)
        yield from Excerpts(self._text, ()).at(Place(place.path, line, column))


def position(manifest: Manifest, place: Place) -> tuple[int, int]:
    """Return line and column, from 1, of a place in the schema, or of a field of the resource."""
    document, lines = manifest.resource.document, _text(manifest).splitlines()
    field, text, inner = _field(manifest, place)
    text_lines = text.splitlines()
    if text_lines:
        number, column = _in_text(text, inner)
        if number > len(text_lines):  # the text ends too early
            number, column = len(text_lines), len(text_lines[-1]) + 1
        line = document.line_of(field, number)
        if lines[line - 1].endswith(text_lines[number - 1]):  # a literal block
            return line, len(lines[line - 1]) - len(text_lines[number - 1]) + column
    line = document.line_of(field)
    return line, len(lines[line - 1]) - len(lines[line - 1].lstrip()) + 1


def _field(manifest: Manifest, place: Place) -> tuple[str, str, Place]:
    """Return the field that has the place, the field's text ("" if the place is not in a text), and the place in it."""
    if not place.path.startswith("$") or manifest.resource.kind != TOPIC_SCHEMA.name:
        return place.path, "", place
    try:
        spec = manifest.resource.spec
    except StalledError:
        return "spec", "", place
    field = schema_source.field_of(spec, place.path)
    if spec.key_value is not None:
        for side, part in ((Side.KEY, spec.key_value.key), (Side.VALUE, spec.key_value.value)):
            if field == f"spec.keyValue.{side}.schema":
                return field, part.schema, Place("$" + place.path.removeprefix(f"$.{side}"), place.line, place.column)
    if field.startswith("spec.protobuf.files[") and spec.protobuf is not None and place.line is not None:
        return field, spec.protobuf.files[field.partition("[")[2].removesuffix("]")], place
    return field, spec.schema if field == schema_source.SCHEMA_FIELD else "", place


def _in_text(text: str, place: Place) -> tuple[int, int]:
    if place.line is not None:
        return place.line, place.column or 1
    try:
        return json_text.locate(text, place.path)
    except InvalidSchemaError:
        return 1, 1


def _text(manifest: Manifest) -> str:
    return go_yaml.decoded(manifest.content)
