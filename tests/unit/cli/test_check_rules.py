"""`check` refuses by itself what the API server refuses by the CRDs: the objects of the cluster tests."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster.broker_objects import RIGHT_BROKER_EDITS, RIGHT_BROKERS, WRONG_BROKERS
from cluster.right_objects import RIGHT, RIGHT_EDITS
from cluster.validation_objects import RIGHT_VALIDATIONS, WRONG_VALIDATIONS
from cluster.wrong_edits import WRONG_EDITS
from cluster.wrong_objects import WRONG, Row, changed
from support import command_line
from support.manifest_repository import Repository
from topicschema.api import bounds, openapi
from topicschema.api.policies import NamespaceSchemaPolicy, NamespaceSchemaPolicySpec
from topicschema.api.schema_fields import IMMUTABLE
from topicschema.api.topicschemas import TopicSchema, TopicSchemaSpec
from topicschema.api.wire import decode
from topicschema.cli.check.resources import KINDS, ManifestReader
from topicschema.cli.inputs.manifests import ManifestError
from topicschema.core.errors import StalledError

_FILE = "resource.json"
_SPECS = {TopicSchema: TopicSchemaSpec, NamespaceSchemaPolicy: NamespaceSchemaPolicySpec}


def of_users(*rows: Row) -> pytest.MarkDecorator:
    """Parametrize a test by the rows about kinds that users write."""
    some = [each for each in rows if each.base["kind"] in KINDS]
    return pytest.mark.parametrize("row", some, ids=[f"{each.base['kind']}: {each.sentence}" for each in some])


def errors(row: Row) -> list[ManifestError]:
    content = json.dumps(changed(row.base, row.path, row.value)).encode()
    return ManifestReader().read([_FILE], {_FILE: content})[1]


@of_users(*WRONG, *WRONG_BROKERS, *WRONG_VALIDATIONS)
def test_a_wrong_object_is_refused(row: Row) -> None:
    [error] = errors(row)
    is_placed = error.why.startswith(row.field.rpartition(".")[0])  # a map's member is written as [name]
    assert is_placed or row.field in KINDS.values()  # core.topics names the value


@of_users(*RIGHT, *RIGHT_EDITS, *RIGHT_BROKERS, *RIGHT_BROKER_EDITS, *RIGHT_VALIDATIONS)
def test_a_right_object_is_accepted(row: Row) -> None:
    assert errors(row) == []


@of_users(*WRONG_EDITS)
def test_a_wrong_edit_is_refused(row: Row, tmp_path: Path) -> None:
    repository = Repository.create(tmp_path)
    path = tmp_path / _FILE
    path.write_text(json.dumps(row.base))
    repository.commit()
    path.write_text(json.dumps(changed(row.base, row.path, row.value)))
    done = command_line.run(tmp_path, "check", "--git", "HEAD", _FILE)
    assert done.returncode in (1, 2), done.stdout
    assert row.field in done.stdout + done.stderr


@pytest.mark.parametrize("cls", _SPECS, ids=lambda cls: cls.__name__)
def test_each_rule_of_the_crd_has_a_wrong_object_or_edit(cls: Any) -> None:
    spec = openapi.root_schema(cls)["properties"]["spec"]
    known = {message for row in (*WRONG, *WRONG_BROKERS, *WRONG_VALIDATIONS) for _, message in _faults(row)}
    fields_of_edits = {each.field for each in WRONG_EDITS if each.base["kind"] == cls.__name__}
    rest = [(path, rule["message"]) for path, rule in _rules(spec, "spec") if rule["message"] not in known]
    ours = [(path, message) for path, message in rest if path != "spec.topic"]  # core.topics has the rules of topics
    assert {message for _, message in ours} <= {IMMUTABLE.message}
    assert {path for path, message in rest if message == IMMUTABLE.message} <= fields_of_edits


def _faults(row: Row) -> Iterator[tuple[str, str]]:
    wire = changed(row.base, row.path, row.value)
    cls = next((each for each in _SPECS if each.__name__ == wire["kind"]), None)
    try:
        if cls is not None:
            decode(cls, wire)
            yield from bounds.faults(_SPECS[cls], wire["spec"], "spec")
    except StalledError:
        return


def _rules(schema: dict[str, Any], path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for each in schema.get("x-kubernetes-validations", ()):
        yield path, each
    for name, member in schema.get("properties", {}).items():
        yield from _rules(member, f"{path}.{name}")
    for item in (schema.get("items"), schema.get("additionalProperties")):
        if item is not None:
            yield from _rules(item, f"{path}[]")
