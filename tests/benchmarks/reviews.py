"""AdmissionReviews per second of one webhook process: 20 kB schemas, 32 in flight, over TLS."""

import itertools
import json
import statistics
import sys
from collections.abc import Iterator
from typing import Any

from benchmarks.rows import Goal, Row, beside, row
from benchmarks.schemas import schema
from benchmarks.stage import NAMESPACE, Stage, create, stage
from benchmarks.traffic import Outcome, Request, Target, send
from testbed import ports
from testbed.product import wait_until_listening

_STREAMS, _EACH, _ROUNDS, _SIZE = 32, 40, 3, 20_000
_GOAL = Goal(300, at_most=False, unit="1/s")


def measure() -> Iterator[Row]:
    """Yield rows of reviews per second, ours beside bare aiohttp."""
    with stage() as on:
        on.product.start_controller()
        names = create(on, "review", _STREAMS, _SIZE)
        on.wait_until_ready(_STREAMS)
        on.product.controller.terminate()
        on.product.start_webhook()
        requests = _requests(on, names)
        ca = on.product.certificate.ca
        targets = {"ours": Target(on.product.webhook_url, ca), "bare": Target(_start_bare(on), ca)}
        outcomes: dict[str, list[Outcome]] = {name: [] for name in targets}
        each = _STREAMS * _EACH
        for part in range(_ROUNDS + 1):
            for name, target in targets.items():
                outcome = send(target, requests[part * each : (part + 1) * each])
                if part:  # the first is to warm up
                    outcomes[name].append(outcome)
        rate = {name: statistics.median(one.rate for one in each) for name, each in outcomes.items()}
        yield beside("reviews, 20 kB, 32 in flight", rate["ours"], "1/s", ("bare aiohttp, TLS", rate["bare"]), _GOAL)
        yield row("review p99, 20 kB, 32 in flight", statistics.median(one.p99 for one in outcomes["ours"]), "ms")


def _start_bare(on: Stage) -> str:
    port, certificate = ports.free(), on.product.certificate
    arguments = [sys.executable, "-m", "benchmarks.bare", str(port), str(certificate.certificate), str(certificate.key)]
    on.plane.instance.run("bare", arguments)
    wait_until_listening(port)
    return f"https://127.0.0.1:{port}"


def _requests(on: Stage, names: list[str]) -> list[Request]:
    """Return edits of each topic, each another one, as the API server would review them; none is ever stored."""
    olds = [on.plane.cluster.get("tsc", name, "-n", NAMESPACE) for name in names]
    revisions = itertools.count(1)
    return [
        Request(
            stream,
            "POST",
            "/review?timeout=10s",
            "application/json",
            json.dumps(_review(olds[stream], schema(_SIZE, next(revisions)))),
        )
        for _ in range(_EACH * (_ROUNDS + 1))
        for stream in range(_STREAMS)
    ]


def _review(old: dict[str, Any], text: str) -> dict[str, Any]:
    kind = {"group": "topicschema.io", "version": "v1alpha1", "kind": "TopicSchema"}
    resource = {"group": "topicschema.io", "version": "v1alpha1", "resource": "topicschemas"}
    request = {
        "uid": "bench",
        "kind": kind,
        "resource": resource,
        "requestKind": kind,
        "requestResource": resource,
        "name": old["metadata"]["name"],
        "namespace": NAMESPACE,
        "operation": "UPDATE",
        "userInfo": {"username": "bench"},
        "object": {**old, "spec": {**old["spec"], "schema": text}},
        "oldObject": old,
        "dryRun": False,
        "options": {"apiVersion": "meta.k8s.io/v1", "kind": "UpdateOptions"},
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
