"""Reads of the REST registry per second, beside a broker's admin REST: over TLS with tokens, 16 in flight."""

import statistics
from collections.abc import Iterator

from benchmarks.rows import Goal, Row, beside
from benchmarks.schemas import schema
from benchmarks.stage import NAMESPACE, create, stage
from benchmarks.traffic import Outcome, Request, Target, send
from support.kubernetes.registry_process import run_registry
from testbed import brokers
from testbed.progress import Progress
from testbed.pulsar import start
from testbed.pulsar_setup import Access, Setup

_STREAMS, _EACH, _ROUNDS, _TOPICS, _SIZE = 16, 200, 3, 100, 2_000
_AS_MANY, _AS_FAST = Goal(1.0, at_most=False), Goal(1.0, at_most=True)
_CALLS = {"newest version": "schema", "version 0": "schema/0"}


def measure() -> Iterator[Row]:
    """Yield rows of reads per second and of their p99, of the newest version and of a version by its number."""
    brokers.prepare(Progress())
    with stage() as on:
        on.product.start_controller()
        names = create(on, "read", _TOPICS, _SIZE)
        on.wait_until_ready(_TOPICS)
        pulsar = start(on.plane.instance, "secured", Setup(access=Access.TOKEN))
        credentials = pulsar.credentials
        if credentials is None:
            raise TypeError("the broker has no tokens")
        namespace = pulsar.create_namespace()
        for name in names:
            sent = {"type": "AVRO", "schema": schema(_SIZE), "properties": {}}
            pulsar.call("POST", f"/schemas/{namespace}/{name}/schema", sent)
        with run_registry(on.product, {"TOPICSCHEMA_REGISTRY_REQUESTS_PER_SECOND": "1000000"}) as client:
            targets = {
                "ours": (Target(client.url, client.ca, token=client.token), f"/{NAMESPACE}", "shop/orders"),
                "broker": (Target(pulsar.admin_url, credentials.ca, token=credentials.tokens.superuser), "", namespace),
            }
            for name, call in _CALLS.items():
                outcomes: dict[str, list[Outcome]] = {each: [] for each in targets}
                for part in range(_ROUNDS + 1):
                    for each, (target, prefix, of) in targets.items():
                        outcome = send(target, _requests(f"{prefix}/admin/v2/schemas/{of}", names, call))
                        outcomes[each] += [outcome] if part else []  # the first is to warm up
                rates = {each: statistics.median(one.rate for one in of) for each, of in outcomes.items()}
                p99 = {each: statistics.median(one.p99 for one in of) for each, of in outcomes.items()}
                yield beside(f"reads, {name}", rates["ours"], "1/s", ("broker", rates["broker"]), _AS_MANY)
                yield beside(f"read p99, {name}", p99["ours"], "ms", ("broker", p99["broker"]), _AS_FAST)


def _requests(path: str, names: list[str], call: str) -> list[Request]:
    return [
        Request(stream, "GET", f"{path}/{names[(number + stream) % len(names)]}/{call}", "application/json", "")
        for stream in range(_STREAMS)
        for number in range(_EACH)
    ]
