"""The CRDs describe and limit every field, and the committed ones are generated from the types."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest

from topicschema.api import crds, openapi
from topicschema.api.schema_fields import Field

FOLDER = Path(__file__).parents[3] / "crds"
Schema = dict[str, Any]


def root(document: Schema) -> Schema:
    (version,) = document["spec"]["versions"]
    schema: Schema = version["schema"]["openAPIV3Schema"]
    return schema


def members(schema: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    """Yield every member of a schema on all levels, with its path."""
    for name, member in schema.get("properties", {}).items():
        yield f"{path}.{name}", member
        yield from members(member, f"{path}.{name}")
    for inner in ("items", "additionalProperties"):
        if inner in schema:
            yield f"{path}[]", schema[inner]
            yield from members(schema[inner], f"{path}[]")


EVERYTHING = [
    pytest.param(member, id=f"{document['spec']['names']['kind']}{path}")
    for document in crds.documents().values()
    for path, member in members(root(document))
    if path not in (".apiVersion", ".kind", ".metadata")  # the API server's own
]
NAMED = [each for each in EVERYTHING if not str(each.id).endswith("[]")]


def test_the_committed_files_are_generated_from_the_types() -> None:
    assert {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*")} == crds.texts()


def test_the_check_finds_a_stale_and_a_missing_file_and_writing_mends_both(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert crds.main([str(tmp_path)]) == 0
    assert crds.main(["--check", str(tmp_path)]) == 0
    stale, missing, *_ = sorted(tmp_path.iterdir())
    stale.write_text("edited by hand")
    missing.unlink()
    assert crds.main(["--check", str(tmp_path)]) == 1
    assert capsys.readouterr().err.splitlines() == [f"{path} is stale: make generate" for path in (stale, missing)]
    assert crds.main([str(tmp_path)]) == 0
    assert crds.main(["--check", str(tmp_path)]) == 0


@pytest.mark.parametrize("member", NAMED)
def test_every_field_has_a_description(member: Schema) -> None:
    assert member["description"].endswith(".")


@pytest.mark.parametrize("member", EVERYTHING)
def test_every_text_list_and_map_has_a_limit_and_nothing_is_a_float(member: Schema) -> None:
    limits = {"string": {"maxLength", "enum"}, "array": {"maxItems"}, "object": {"maxProperties", "properties"}}
    if member.get("x-kubernetes-int-or-string") or member.get("x-kubernetes-preserve-unknown-fields"):
        return  # an amount, which the API server's validation of pods limits, and state that only the operator writes
    assert member["type"] in {*limits, "integer", "boolean"}
    keys = limits.get(member["type"])
    assert keys is None or keys & member.keys()


def test_a_status_has_the_generation_minus_one_before_it_is_written_and_no_other_field_has_a_default() -> None:
    defaults = {
        f"{document['spec']['names']['kind']}{path}": member["default"]
        for document in crds.documents().values()
        for path, member in members(root(document))
        if "default" in member
    }
    assert defaults == {
        f"{kind}.status{path}": default
        for kind in ("TopicSchema", "NamespaceSchemaPolicy", "SchemaRegistry")
        for path, default in (("", {"observedGeneration": -1}), (".observedGeneration", -1))
    }


def test_each_column_and_selectable_field_exists() -> None:
    for document in crds.documents().values():
        known = {path for path, _ in members(root(document))} | {".metadata.creationTimestamp"}
        (version,) = document["spec"]["versions"]
        selectable = [field["jsonPath"] for field in version.get("selectableFields", [])]
        columns = [column["jsonPath"] for column in version["additionalPrinterColumns"]]
        assert {path for path in selectable + columns if "[?" not in path} <= known


@dataclass(frozen=True, slots=True, kw_only=True)
class Unlimited:
    """Lacks a limit."""

    name: Annotated[str, Field("A name.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wordless:
    """Lacks a description."""

    name: Annotated[str, Field(max_length=1)]


@pytest.mark.parametrize(
    ("cls", "message"),
    [(Unlimited, r"Unlimited\.name has no maxLength"), (Wordless, r"Wordless\.name has no description")],
)
def test_a_field_without_words_or_bounds_fails_the_generation(cls: type, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        openapi.root_schema(cls)
