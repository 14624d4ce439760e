"""What all else on the node builds upon: pods run as they must, find the API server, and end as Jobs are told."""

import json

import pytest

from support.kubernetes.pods import Pods, spec, with_files

_BEFORE = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
_AFTER = {**_BEFORE, "fields": [*_BEFORE["fields"], {"name": "note", "type": "string"}]}
_ADDRESS, _NAME = "$(KUBERNETES_SERVICE_HOST)", "kubernetes.default.svc"


@pytest.mark.full
def test_the_operator_image_judges_schemas_as_nobody_who_can_write_nowhere(pods: Pods, operator_image: str) -> None:
    pods.files("schemas", {"before.avsc": json.dumps(_BEFORE), "after.avsc": json.dumps(_AFTER)})
    history = ["--history", "/given/before.avsc"]

    same = pods.run("same", with_files(spec(operator_image, ["check", "/given/before.avsc", *history]), "schemas"))
    other = pods.run("other", with_files(spec(operator_image, ["check", "/given/after.avsc", *history]), "schemas"))

    assert (same.exit_code, other.exit_code) == (0, 1), (same.log, other.log)
    assert "note" in other.log
