"""The Job's manifest: it fits a restricted namespace, names its TopicSchema, and carries the whole request."""

import base64
import json
import random
from dataclasses import replace
from typing import Any

import pytest

from support.kubernetes.jobs import OWNER, REQUEST, VALIDATION_REQUEST
from topicschema.api.schema_fields import Amount
from topicschema.api.validation_pods import ResourcesSpec, TemplateSpec, TolerationSpec
from topicschema.core.history import Owner
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.validation import request
from topicschema.validation.job.manifest import (
    NAMESPACE_LABEL,
    OWNER_ANNOTATION,
    PART_BYTES,
    REQUEST_ANNOTATION,
    ROLE_LABEL,
    UID_LABEL,
    job_name,
    last_part,
    manifest,
    name_label,
    request_parts,
)
from topicschema.validation.job.pods import SecretFiles

TOKEN = SecretFiles("/credentials", "reader", {"token": "jwt"})
REQUEST_HASH = REQUEST.request_hash


def pod_of(job: dict[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = job["spec"]["template"]["spec"]
    return spec


@pytest.mark.parametrize("executors", [0, 2])
def test_pods_are_what_a_restricted_namespace_takes(executors: int) -> None:
    request = replace(REQUEST, validation_request=replace(VALIDATION_REQUEST, executors=executors), mounts=(TOKEN,))
    specs = [pod_of(manifest(request))]
    if executors:
        (part,) = request_parts(request, "uid")
        specs.append(json.loads(part["data"]["executor.json"])["spec"])
    for spec in specs:
        (container,) = spec["containers"]
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        }
        kinds = {kind for volume in spec["volumes"] for kind in volume} - {"name"}
        assert kinds <= {"emptyDir", "secret", "projected"}
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(spec)


def test_only_a_driver_with_executors_has_a_token_and_ports_that_network_policies_can_name() -> None:
    alone, many = (
        manifest(replace(REQUEST, validation_request=replace(VALIDATION_REQUEST, executors=n))) for n in (0, 2)
    )
    assert pod_of(alone)["automountServiceAccountToken"] is False
    assert pod_of(many)["automountServiceAccountToken"] is True
    assert "ports" not in pod_of(alone)["containers"][0]
    assert [port["containerPort"] for port in pod_of(many)["containers"][0]["ports"]] == [7078, 7079]
    assert many["spec"]["template"]["metadata"]["labels"][ROLE_LABEL] == "driver"
    (part,) = request_parts(replace(REQUEST, validation_request=replace(VALIDATION_REQUEST, executors=2)), "uid")
    executor = json.loads(part["data"]["executor.json"])
    assert executor["spec"]["automountServiceAccountToken"] is False
    assert executor["metadata"]["labels"][ROLE_LABEL] == "executor"


def test_a_job_is_its_topics_and_waits_and_a_verdict_ends_it() -> None:
    made = manifest(replace(REQUEST, active_deadline_seconds=60, ttl_seconds_after_finished=5))
    spec = made["spec"]
    assert spec["suspend"] is True
    assert (spec["activeDeadlineSeconds"], spec["ttlSecondsAfterFinished"]) == (60, 5)
    assert spec["podFailurePolicy"]["rules"][0]["onExitCodes"]["values"] == [42]
    metadata = made["metadata"]
    assert (metadata["namespace"], "ownerReferences" in metadata) == (REQUEST.namespace, False)
    assert (metadata["labels"][NAMESPACE_LABEL], metadata["labels"][UID_LABEL]) == (OWNER.namespace, OWNER.uid)
    assert metadata["annotations"][OWNER_ANNOTATION] == f"{OWNER.namespace}/{OWNER.name}"
    assert metadata["annotations"][REQUEST_ANNOTATION] == VALIDATION_REQUEST.sha256


def test_only_the_named_members_of_secrets_are_mounted() -> None:
    spec = pod_of(manifest(replace(REQUEST, mounts=(TOKEN,))))
    (volume,) = [volume for volume in spec["volumes"] if volume["name"] == "credentials"]
    assert volume["secret"]["items"] == [{"key": "jwt", "path": "token"}]
    (container,) = spec["containers"]
    assert {"name": "credentials", "mountPath": "/credentials", "readOnly": True} in container["volumeMounts"]


def test_a_template_sets_nodes_and_resources_of_pods() -> None:
    template = TemplateSpec(
        service_account_name="reader",
        resources=ResourcesSpec(requests={"cpu": Amount("2")}),
        node_selector={"disk": "ssd"},
        tolerations=(TolerationSpec(key="batch"),),
    )
    spec = pod_of(manifest(replace(REQUEST, template=template)))
    assert spec["serviceAccountName"] == "reader"
    assert spec["containers"][0]["resources"]["requests"] == {"cpu": "2"}
    assert (spec["nodeSelector"], spec["tolerations"]) == ({"disk": "ssd"}, [{"key": "batch"}])
    assert pod_of(manifest(REQUEST))["serviceAccountName"] == "topicschema-validation"


def test_a_large_request_is_mounted_in_parts_that_form_the_request() -> None:
    noise = base64.b64encode(random.Random(1).randbytes(2_000_000))  # noqa: S311 - what xz cannot make smaller
    large = replace(VALIDATION_REQUEST, versions={0: SchemaInfo(SchemaType.STRING, noise)})
    job_request = replace(REQUEST, validation_request=large)
    parts = request_parts(job_request, "uid")
    assert len(parts) > 1
    contents = [base64.b64decode(content) for part in parts for content in part["binaryData"].values()]
    assert max(map(len, contents)) <= PART_BYTES
    assert request.read(b"".join(contents)) == large
    names = [name for part in parts for name in part["binaryData"]]
    assert names == sorted(names)
    assert {owner["uid"] for part in parts for owner in part["metadata"]["ownerReferences"]} == {"uid"}
    assert all(part["immutable"] for part in parts)
    job = manifest(job_request)
    assert last_part(job) == parts[-1]["metadata"]["name"]
    sources = next(v for v in pod_of(job)["volumes"] if v["name"] == "request")["projected"]["sources"]
    assert [source["configMap"]["name"] for source in sources] == [part["metadata"]["name"] for part in parts]


def test_names_and_labels_are_short_and_differ_by_owner_request_and_attempt() -> None:
    long = Owner("shop", "a.b" * 80, "uid-1")
    names = {
        job_name(owner, request_hash, attempt)
        for owner in (OWNER, long, replace(OWNER, uid="uid-2"))
        for request_hash in (REQUEST_HASH, "sha256:" + "b" * 64)
        for attempt in (1, 2)
    }
    assert len(names) == 12
    assert all(len(name) <= 63 and "." not in name for name in names)
    assert name_label("created") == "created"
    assert len(name_label(long.name)) <= 63
