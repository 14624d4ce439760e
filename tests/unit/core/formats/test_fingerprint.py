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

from support.schemas import avro_redefinitions
from topicschema.core import formats, schemas
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats.avro.model import Named, Node
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType

SPEC = Path(__file__).parents[4] / "docs" / "spec"
VECTORS = json.loads((SPEC / "fingerprint-vectors.json").read_text())


def fingerprint(kind: SchemaType, text: str, pulsar_version: PulsarVersion = PulsarVersion.V4_0) -> str:
    info = SchemaInfo(kind, text.encode())
    try:
        return formats.parse(info, pulsar_version).fingerprint
    except InvalidSchemaError:
        return schemas.fingerprint_of_bytes(info.type, info.schema)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["what"])
def test_a_fingerprint_is_what_it_was_when_it_was_frozen(vector: dict[str, str]) -> None:
    pulsar_version = PulsarVersion(vector.get("pulsarVersion", "4.0"))
    assert fingerprint(SchemaType(vector["type"]), vector["schema"], pulsar_version) == vector["fingerprint"]


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


def named(root: Node) -> list[Named]:
    """Return all named types, each once."""
    visited: dict[Node, None] = {}
    ahead = [root]
    while ahead:
        node = ahead.pop()
        if node not in visited:
            visited[node] = None
            ahead += node.children
    return [node for node in visited if isinstance(node, Named)]


def are_equal(one: Node, other: Node) -> bool:
    """Avro's `equals`: two types that are being compared are taken for equal."""
    compared: set[tuple[Node, Node]] = set()
    ahead = [(one, other)]
    while ahead:
        pair = ahead.pop()
        if pair in compared:
            continue
        compared.add(pair)
        facts = [
            [type(each), each.props, len(each.children)]
            + [getattr(each, name, None) for name in ("full_name", "kind", "symbols")]
            + [field.name for field in getattr(each, "fields", ())]
            for each in pair
        ]
        if facts[0] != facts[1]:
            return False
        ahead += zip(pair[0].children, pair[1].children, strict=True)
    return True


@given(st.integers(0, 2**32))
def test_definitions_of_a_name_have_one_digest_exactly_if_they_describe_one_infinite_tree(seed: int) -> None:
    schemas_read: list[Any] = []
    for text in avro_redefinitions.pair(random.Random(seed)):  # noqa: S311 - chance for tests, to be repeated
        try:
            schemas_read.append(formats.parse(SchemaInfo(SchemaType.AVRO, text.encode()), PulsarVersion.V4_1))
        except InvalidSchemaError:
            return
    one, other = schemas_read
    assert (one.fingerprint == other.fingerprint) is are_equal(one.root, other.root)
    types = [*named(one.root), *named(other.root)]
    for left in types:
        for right in types:
            assert (left.digest == right.digest) is are_equal(left, right)
