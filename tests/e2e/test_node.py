"""What all else on the node builds upon: pods run as they must, find the API server, and end as Jobs are told."""

import json

import pytest

from support.kubernetes.pods import Pods, spec, with_files

_BEFORE = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
_AFTER = {**_BEFORE, "fields": [*_BEFORE["fields"], {"name": "note", "type": "string"}]}
_ADDRESS, _NAME = "$(KUBERNETES_SERVICE_HOST)", "kubernetes.default.svc"
_CALL = """
import pathlib, ssl, sys, urllib.request
own = pathlib.Path("/var/run/secrets/kubernetes.io/serviceaccount")
trust = ssl.create_default_context(cafile=own / "ca.crt")
asked = urllib.request.Request(sys.argv[1], headers={"Authorization": "Bearer " + (own / "token").read_text()})
print(urllib.request.urlopen(asked, timeout=30, context=trust).read().decode())
"""


@pytest.mark.full
def test_the_operator_image_judges_schemas_as_nobody_who_can_write_nowhere(pods: Pods, operator_image: str) -> None:
    pods.files("schemas", {"before.avsc": json.dumps(_BEFORE), "after.avsc": json.dumps(_AFTER)})
    history = ["--history", "/given/before.avsc"]

    same = pods.run("same", with_files(spec(operator_image, ["check", "/given/before.avsc", *history]), "schemas"))
    other = pods.run("other", with_files(spec(operator_image, ["check", "/given/after.avsc", *history]), "schemas"))

    assert (same.exit_code, other.exit_code) == (0, 1), (same.log, other.log)
    assert "note" in other.log


@pytest.mark.full
@pytest.mark.parametrize(
    "host", ["$(KUBERNETES_SERVICE_HOST)", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"]
)
def test_a_pod_reaches_the_api_server_by_address_and_by_name(pods: Pods, operator_image: str, host: str) -> None:
    calling = spec(operator_image, ["-c", _CALL, f"https://{host}/version"], command=["python"])

    ended = pods.run("caller", calling)

    assert ended.exit_code == 0, ended.log
    assert json.loads(ended.log)["major"] == "1"


@pytest.mark.full
def test_a_job_fails_for_good_at_the_exit_code_that_says_so(pods: Pods, operator_image: str) -> None:
    verdict = spec(operator_image, ["-c", "raise SystemExit(42)"], command=["python"])
    final = {"action": "FailJob", "onExitCodes": {"containerName": "main", "operator": "In", "values": [42]}}

    pods.job("refused", verdict, podFailurePolicy={"rules": [final]})
    job = pods.wait_for_job("refused", "Failed")

    reasons = {each["reason"] for each in job["status"]["conditions"] if each["type"] == "Failed"}
    assert reasons == {"PodFailurePolicy"}
    assert len(pods.of_job("refused")) == 1


@pytest.mark.full
def test_a_pod_that_takes_too_much_memory_is_killed_for_that(pods: Pods, operator_image: str) -> None:
    greedy = spec(
        operator_image,
        ["-c", "kept = bytearray(1 << 29); print(len(kept))"],
        command=["python"],
        resources={"limits": {"memory": "64Mi"}},
    )

    ended = pods.run("greedy", greedy)

    status = pods.cluster.get("-n", pods.namespace, "pod", "greedy")["status"]["containerStatuses"][0]
    assert ended.exit_code == 137
    assert status["state"]["terminated"]["reason"] == "OOMKilled"
