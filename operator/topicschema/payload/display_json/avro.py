"""Values of AVRO and JSON schemas as JSON, and back."""

from typing import Any

from topicschema.core.formats.avro import AvroSchema
from topicschema.core.formats.avro.graph.trampoline import run
from topicschema.payload.codec import refused
from topicschema.payload.json import leaves
from topicschema.payload.json.walk import Misfit, Walk
from topicschema.payload.path import Path, shown


def to_json(schema: AvroSchema, value: Any) -> Any:
    """Return the JSON of a value. Missing fields are null."""
    return run(Walk(leaves.write, _refuse_unless_tolerated).whole(schema.root, value))


def of_json(schema: AvroSchema, value: Any) -> Any:
    """Return the value. Every field must be present."""
    return run(Walk(leaves.read, _refuse).whole(schema.root, value))


def _refuse(misfit: Misfit, path: Path | None) -> None:
    raise refused(misfit.rule, misfit.message, shown(path))


def _refuse_unless_tolerated(misfit: Misfit, path: Path | None) -> None:
    if not misfit.is_tolerated:
        _refuse(misfit, path)
