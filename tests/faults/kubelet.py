"""A kubelet at the wire, for flows with a gate: it says that every run of a world's messages has ended well.

It is a thread beside the flow, for the controller may be dead when a run ends; it ends with the flow's outcome.
"""

import contextlib
import json
import subprocess
import threading
import time
from typing import Any

from faults.world import World
from topicschema.spark.jobs import QUESTION_ANNOTATION
from topicschema.spark.verdict import Answer, VerdictDocument

_SECONDS = 120.0
IMAGE = {"TOPICSCHEMA_VALIDATION_IMAGE": "registry.test/validation:1"}


def begin(world: World) -> None:
    """Play the kubelet until the topic is Ready or gone, two minutes at most."""
    threading.Thread(target=_play, args=(world,), daemon=True).start()


def _play(world: World) -> None:
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline:
        if world.read() is None or (world.condition("Ready") or ("", ""))[0] == "True":
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            told = world.cluster.try_kubectl("get", "jobs", "-n", world.name, "-o", "json")
            for job in json.loads(told.stdout)["items"] if told.returncode == 0 else ():
                _end(world, job)
        time.sleep(0.2)


def _end(world: World, job: dict[str, Any]) -> None:
    selector = f"batch.kubernetes.io/job-name={job['metadata']['name']}"
    told = world.cluster.try_kubectl("get", "pods", "-n", world.name, "-l", selector, "-o", "json")
    for pod in json.loads(told.stdout)["items"] if told.returncode == 0 else ():
        if pod["status"]["phase"] == "Pending":
            end = {"exitCode": 0, "reason": "Completed", "message": _verdict(job)}
            container = {"name": "driver", "image": "i", "imageID": "", "ready": False, "restartCount": 0}
            status = {"phase": "Succeeded", "containerStatuses": [container | {"state": {"terminated": end}}]}
            body = json.dumps({"status": status})
            name = pod["metadata"]["name"]
            world.cluster.try_kubectl(
                "patch", "pod", name, "-n", world.name, "--subresource=status", "--type=merge", "-p", body
            )


def _verdict(job: dict[str, Any]) -> str:
    question = job["metadata"]["annotations"][QUESTION_ANNOTATION]
    return VerdictDocument(question=question, verdict=Answer.PASS, messages=5, invalid=0).text.decode()
