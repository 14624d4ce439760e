"""The basis of the other tests on the node: a restricted pod runs, and its Job ends with its exit code."""

import json

import pytest

from support.kubernetes.pods import Pods, spec, with_files

_BEFORE = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
_AFTER = {**_BEFORE, "fields": [*_BEFORE["fields"], {"name": "note", "type": "string"}]}


@pytest.mark.full
def test_the_operator_image_judges_schemas_without_root_and_without_a_writable_file_system(
    pods: Pods, operator_image: str
) -> None:
    pods.files("schemas", {"before.avsc": json.dumps(_BEFORE), "after.avsc": json.dumps(_AFTER)})
    history = ["--history", "/files/before.avsc"]

    same = pods.run("same", with_files(spec(operator_image, ["check", "/files/before.avsc", *history]), "schemas"))
    other = pods.run("other", with_files(spec(operator_image, ["check", "/files/after.avsc", *history]), "schemas"))

    assert (same.exit_code, other.exit_code) == (0, 1), (same.log, other.log)
    assert "note" in other.log
