"""The anchor of the settling benchmark: the writes of a new version, issued by a client that does nothing else."""

import asyncio
import base64
import json
import ssl
import time
import zlib
from dataclasses import dataclass
from typing import Any

import aiohttp

from benchmarks.schemas import schema
from benchmarks.stage import NAMESPACE, Stage, create
from testbed.product import NAMESPACE as SYSTEM

_GROUP = "/apis/topicschema.io/v1alpha1/namespaces"
_IN_FLIGHT = 16
_SIZE = 2_000


@dataclass(frozen=True, slots=True)
class _Template:
    """One topic's real record and status, as the controller wrote them: the shape of what is written here."""

    version: dict[str, Any]
    history: dict[str, Any]
    status: dict[str, Any]


async def write_all(on: Stage, count: int) -> float:
    """Return the seconds for one payload, history and status write for each of `count` other topics, 16 at a time."""
    template = _read(on)
    on.product.controller.terminate()  # what it would make of these topics is not to be measured
    names = create(on, "bare", count, _SIZE)
    context = ssl.create_default_context(cafile=str(on.target.ca))
    context.load_cert_chain(str(on.target.certificate), str(on.target.key))
    connector = aiohttp.TCPConnector(ssl=context, limit=_IN_FLIGHT)
    queue = list(enumerate(names))
    async with aiohttp.ClientSession(on.target.server, connector=connector) as session:
        start = time.monotonic()
        await asyncio.gather(*(_drain(session, template, queue) for _ in range(_IN_FLIGHT)))
        return time.monotonic() - start


def _read(on: Stage) -> _Template:
    get = on.plane.cluster.get
    payload = get("schemaversions", "-n", SYSTEM)["items"][0]
    history = get("schemahistories", payload["metadata"]["name"].rsplit("-", 3)[0], "-n", SYSTEM)
    return _Template(payload, history, get("tsc", "settle-0", "-n", NAMESPACE)["status"])


async def _drain(session: aiohttp.ClientSession, template: _Template, queue: list[tuple[int, str]]) -> None:
    packed = base64.b64encode(zlib.compress(schema(_SIZE).encode())).decode()
    while queue:
        number, name = queue.pop()
        key = f"h-{number:040x}"
        for plural, one in (("schemaversions", template.version), ("schemahistories", template.history)):
            suffix = "-0-0-0123456789ab" if plural == "schemaversions" else ""
            metadata = {"name": f"{key}{suffix}", "namespace": SYSTEM}
            body = {**one, "metadata": metadata, "spec": _changed(one["spec"], packed)}
            async with session.post(f"{_GROUP}/{SYSTEM}/{plural}", json=body) as answer:
                answer.raise_for_status()
                await answer.read()
        await _status(session, name, template.status)


def _changed(spec: dict[str, Any], packed: str) -> dict[str, Any]:
    return {**spec, "payload": packed} if "payload" in spec else spec


async def _status(session: aiohttp.ClientSession, name: str, status: dict[str, Any]) -> None:
    body = {
        "apiVersion": "topicschema.io/v1alpha1",
        "kind": "TopicSchema",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "status": status,
    }
    url = f"{_GROUP}/{NAMESPACE}/topicschemas/{name}/status?fieldManager=bare&force=true"
    content = {"Content-Type": "application/apply-patch+yaml"}
    async with session.patch(url, data=json.dumps(body), headers=content) as answer:
        answer.raise_for_status()
        await answer.read()
