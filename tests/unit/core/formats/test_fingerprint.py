"""The identity of a schema: the frozen vectors, the example in the specification, and what never changes it."""

import hashlib
import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.schemas import avro_schemas
from topicschema.core import formats, schemas
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats.avro import fingerprint as avro_fingerprint
from topicschema.core.schemas import SchemaInfo, SchemaType

SPEC = Path(__file__).parents[4] / "docs" / "spec"
VECTORS = json.loads((SPEC / "fingerprint-vectors.json").read_text())


def fingerprint(kind: SchemaType, text: str) -> str:
    info = SchemaInfo(kind, text.encode())
    try:
        return formats.parse(info).fingerprint
    except InvalidSchemaError:
        return schemas.fingerprint_of_bytes(info.type, info.schema)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["what"])
def test_a_fingerprint_is_what_it_was_when_it_was_frozen(vector: dict[str, str]) -> None:
    assert fingerprint(SchemaType(vector["type"]), vector["schema"]) == vector["fingerprint"]


def test_the_example_in_the_specification_is_true() -> None:
    page = (SPEC / "fingerprint.md").read_text()
    [schema] = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    [structure] = re.findall(r"```text\n(.*?)\n```", page, re.DOTALL)
    expected = "sha256:" + hashlib.sha256(structure.encode()).hexdigest()
    assert fingerprint(SchemaType.AVRO, schema) == expected


def test_a_text_that_does_not_parse_never_has_the_fingerprint_of_a_structure() -> None:
    text = '{"type":"record","name":"R","fields":[]}'
    structure = f'"R"\n{text}'
    assert fingerprint(SchemaType.AVRO, structure) != fingerprint(SchemaType.AVRO, text)


def reformatted(rng: random.Random, value: Any, *, is_type: bool = True) -> Any:
    """The same schema with other member order and more docs."""
    if isinstance(value, list):
        return [reformatted(rng, item, is_type=is_type) for item in value]
    if not isinstance(value, dict):
        return value
    members = list(value.items())
    rng.shuffle(members)
    inner = ("type", "items", "values", "fields")
    made = {name: reformatted(rng, child, is_type=name in inner) for name, child in members}
    if is_type and "type" in made:
        made["doc"] = rng.choice(("", "other words", None, 7))
    return made


@given(st.integers(0, 2**32))
def test_reformatting_a_text_never_changes_its_fingerprint(seed: int) -> None:
    rng = avro_schemas.seeded(seed)
    value = avro_schemas.schema(rng)
    text = json.dumps(value)
    other = json.dumps(reformatted(rng, value), indent=rng.choice((None, 1, 4)), ensure_ascii=rng.random() < 0.5)
    try:
        root: Any = formats.parse(SchemaInfo(SchemaType.JSON, text.encode()))
    except InvalidSchemaError:
        with pytest.raises(InvalidSchemaError):
            formats.parse(SchemaInfo(SchemaType.JSON, other.encode()))
        return
    again: Any = formats.parse(SchemaInfo(SchemaType.JSON, f"// the same\n{other}\n".encode()))
    assert avro_fingerprint.equal(again.root, root.root)
    assert again.fingerprint == root.fingerprint == avro_fingerprint.seal(SchemaType.JSON, again.root)


CIRCLE = """{"type": "record", "name": "A", "fields": [{"name": "b", "type": [
  "null", {"type": "record", "name": "B", "fields": [%s]}]}]}"""


def test_a_circle_of_types_has_one_digest_per_type_and_changes_with_each_of_them() -> None:
    def digests(inner: str) -> tuple[bytes, bytes]:
        schema: Any = formats.parse(SchemaInfo(SchemaType.AVRO, (CIRCLE % inner).encode()))
        root = schema.root
        return root.digest, root.fields[0].type.branches[1].digest

    first = digests('{"name":"a","type":["null","A"]}')
    same = digests('{"type":["null","A"],"name":"a","doc":"words"}')
    other = digests('{"name":"x","type":["null","A"]}')
    assert first == same
    assert len({*first, *other}) == 4
