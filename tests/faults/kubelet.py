"""A fake kubelet for flows with a gate: it reports that every run of a world's messages has passed.

It is a thread beside the flow, because the controller may be dead when a run ends; it ends with the flow.
"""

import threading
import time
from typing import Any

from faults.world import World
from testbed.product import VALIDATION
from topicschema.validation.job.manifest import REQUEST_ANNOTATION
from topicschema.validation.job.result import MessagesVerdict, VerdictDocument

_SECONDS = 600.0
IMAGE = {"TOPICSCHEMA_VALIDATION_IMAGE": "registry.test/validation:1"}


def start(world: World) -> None:
    """Run the kubelet until the topic is Ready or gone, some minutes at most."""
    threading.Thread(target=_run, args=(world,), daemon=True).start()


def _run(world: World) -> None:
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline:
        if world.read() is None or (world.condition("Ready") or ("", ""))[0] == "True":
            return
        for job in world.jobs():
            _end(world, job)
        time.sleep(0.2)


def _end(world: World, job: dict[str, Any]) -> None:
    selector = f"labelSelector=batch.kubernetes.io/job-name={job['metadata']['name']}"
    for pod in world.api.list("pods", VALIDATION, selector):
        if pod["status"]["phase"] == "Pending":
            end = {"exitCode": 0, "reason": "Completed", "message": _verdict(job)}
            container = {"name": "driver", "image": "i", "imageID": "", "ready": False, "restartCount": 0}
            status = {"phase": "Succeeded", "containerStatuses": [container | {"state": {"terminated": end}}]}
            world.api.merge("pods", VALIDATION, pod["metadata"]["name"], {"status": status}, "status")


def _verdict(job: dict[str, Any]) -> str:
    request_hash = job["metadata"]["annotations"][REQUEST_ANNOTATION]
    return VerdictDocument(request_hash=request_hash, verdict=MessagesVerdict.PASS, messages=5, invalid=0).text.decode()
