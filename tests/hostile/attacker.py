"""The attacks of a tenant, or of a client that reaches the webhook. `attacks` measures their effects."""

import asyncio
import json
import os
import ssl
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

import aiohttp

from benchmarks.stage import policy, topic_schema
from hostile.costly import FAMILIES
from hostile.growth import sized
from testbed.product import NAMESPACE as SYSTEM
from topicschema.cluster.client import ApiClient
from topicschema.cluster.connection import ApiConnection
from topicschema.core import formats
from topicschema.core.history import History, Origin
from topicschema.core.topics import Topic, TopicKey
from topicschema.storage.kubernetes.storage import KubernetesStorage
from topicschema.storage.protocol import Stored

ATTACKER: Final = "attacker"
_API: Final = "/apis/topicschema.io/v1alpha1/namespaces"
_APPLY: Final = {"Content-Type": "application/apply-patch+yaml"}
_WORST: Final = ("full", "later_names", "back", "many_fields")
_BODY: Final = 15_000_000


class Prepared(Protocol):
    """An event that another process waits for."""

    def set(self) -> None:
        """Start the measurement: from now on it is an attack."""


@dataclass(frozen=True, slots=True)
class Target:
    """The target of an attack: a cluster by its kubeconfig, and the webhook's address."""

    kubeconfig: str
    server: str
    webhook: str

    def session(self) -> aiohttp.ClientSession:
        """Return a session with the API server, as its administrator."""
        pki = Path(self.kubeconfig).parent / "pki"
        trusted = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        trusted.load_cert_chain(pki / "admin.crt", pki / "admin.key")
        return aiohttp.ClientSession(self.server, connector=aiohttp.TCPConnector(ssl=trusted, limit=0))


@dataclass(frozen=True, slots=True)
class Attacker:
    """An attacker, in a process of its own."""

    target: Target
    session: aiohttp.ClientSession
    is_prepared: Prepared

    async def apply(self, kind: str, wire: Mapping[str, Any], *, dry_run: bool = False) -> str:
        """Apply the object in the attacker's namespace. Return the response's status and beginning."""
        return await apply(self.session, ATTACKER, kind, wire, dry_run=dry_run)


async def apply(
    session: aiohttp.ClientSession, namespace: str, kind: str, wire: Mapping[str, Any], *, dry_run: bool = False
) -> str:
    """Apply the object. Return the response's status and beginning."""
    path = f"{_API}/{namespace}/{kind}/{wire['metadata']['name']}"
    query = {"fieldManager": "attacks", "force": "true", **({"dryRun": "All"} if dry_run else {})}
    async with session.patch(path, params=query, data=json.dumps(wire), headers=_APPLY) as response:
        return f"{response.status} {(await response.text())[:300]}"


def _policy(strategy: str) -> dict[str, Any]:
    wire: dict[str, Any] = policy(ATTACKER, "evil/orders", schemaCompatibilityStrategy=strategy)["items"][1]
    return wire


def _topic(name: str, text: str) -> dict[str, Any]:
    wire = topic_schema(name, text)
    wire["metadata"]["namespace"], wire["spec"]["topic"] = ATTACKER, f"persistent://evil/orders/{name}"
    return wire


async def nothing(attacker: Attacker) -> None:
    """Wait. The other tenant's edits are measured without an attack."""
    attacker.is_prepared.set()
    await asyncio.Event().wait()


async def bodies(attacker: Attacker) -> None:
    """Send six streams of dry runs, each of another large schema, compared with a version of the same family."""
    wires = []
    for name in _WORST:
        for size in (sized(FAMILIES[name], 43_000), sized(FAMILIES[name], 900_000)):
            before, after = (FAMILIES[name](size, version).schema.decode() for version in range(2))
            topic = f"{name.replace('_', '-')}-{size}"
            response = await attacker.apply("topicschemas", _topic(topic, before))
            assert response.startswith("2"), response
            wires.append(_topic(topic, after))
    await asyncio.sleep(5)  # the controller registers them
    attacker.is_prepared.set()

    async def stream(number: int) -> None:
        while True:
            await attacker.apply("topicschemas", wires[number % len(wires)], dry_run=True)
            number += 1

    await asyncio.gather(*(stream(number) for number in range(6)))


async def posts(attacker: Attacker) -> None:
    """Send fourteen posts of 15 MB at once to the webhook itself, without a credential."""
    attacker.is_prepared.set()
    objects = b"{}," * ((_BODY - 200) // 3)
    body = b'{"request":{"uid":"1","kind":{"kind":"TopicSchema"},"object":{"a":[' + objects + b"{}]}}}"

    async def post() -> None:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=False)) as session:
            while True:
                try:
                    async with session.post(f"{attacker.target.webhook}/review", data=body) as response:
                        await response.read()
                except aiohttp.ClientError:
                    await asyncio.sleep(0.05)

    await asyncio.gather(*(post() for _ in range(14)))


async def half_sent(attacker: Attacker) -> None:
    """Open 1,200 connections to the webhook. Send 60 kB of a body of 15 MB, and no more."""
    head = b"POST /review HTTP/1.1\r\nHost: webhook\r\nContent-Length: %d\r\n\r\n" % _BODY
    await _connections(attacker, 1_200, [head + b"{" * 60_000])


async def headers(attacker: Attacker) -> None:
    """Open 300 connections to the webhook, each with requests of 120 headers of 8 kB."""
    fields = b"".join(b"X-%d: %s\r\n" % (number, b"a" * 8_000) for number in range(120))
    head = b"POST /review HTTP/1.1\r\nHost: webhook\r\n" + fields
    await _connections(attacker, 300, [head])


async def values(attacker: Attacker) -> None:
    """Open sixty connections to the webhook, each with bodies of nearly 100,000 values in 300 kB."""
    objects = b"{}," * 99_000
    body = b'{"request":{"uid":"1","kind":{"kind":"TopicSchema"},"object":{"a":[' + objects + b"{}]}}}"
    head = b"POST /review HTTP/1.1\r\nHost: webhook\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body)
    await _connections(attacker, 60, [head + body])


async def broken(attacker: Attacker) -> None:
    """Open connections to the webhook that break: no HTTP, bad headers, half a body, many requests and no wait."""
    head = b"POST /review HTTP/1.1\r\nHost: webhook\r\n"
    half = head + b"Content-Length: 9000\r\n\r\n{"
    starts = [b"GARBAGE\r\n\r\n", head + b"A b: c\r\n\r\n", half, b"GET / HTTP/1.1\r\nHost: webhook\r\n\r\n" * 50]
    await _connections(attacker, 40, starts, waits=False)


async def _connections(attacker: Attacker, count: int, starts: Sequence[bytes], *, waits: bool = True) -> None:
    """Open `count` connections repeatedly. Each sends one of `starts` and waits for the response if `waits`."""
    address = urlsplit(attacker.target.webhook)
    untrusting = ssl._create_unverified_context()  # noqa: S323 - the attacker does not care
    attacker.is_prepared.set()

    async def connections(number: int) -> None:
        while True:
            try:
                reader, writer = await asyncio.open_connection(address.hostname, address.port, ssl=untrusting)
                writer.write(starts[number % len(starts)])
                await writer.drain()
                if waits:
                    await reader.read()
                else:
                    await asyncio.sleep(0.01)
                writer.transport.abort()
            except OSError:
                await asyncio.sleep(0.05)

    await asyncio.gather(*(connections(number) for number in range(count)))


async def policies(attacker: Attacker) -> None:
    """Send eight edits at once of policies over 100 topics with 4,000 versions each: 47 MB of histories."""
    two = tuple(formats.parse(FAMILIES["many_fields"](size, 0)) for size in (1, 2))
    async with ApiClient(ApiConnection.load(attacker.target.kubeconfig)) as client:
        storage = KubernetesStorage(client, SYSTEM)
        for number in range(100):
            history = History(TopicKey("pulsar", Topic("evil", "orders", f"long-{number}")))
            stored = Stored(history)
            for each in two:
                history = history.with_version(each, Origin.SPEC, "2026-11-21T05:30:00Z")
            stored = await storage.put(stored, history, tuple(each.info for each in two))
            entries = (replace(history.entries[each % 2], schema_version=each) for each in range(4_000))
            await storage.put(stored, replace(history, entries=tuple(entries)), ())
    attacker.is_prepared.set()

    async def edit(number: int) -> None:
        while True:
            strategy = ("BACKWARD_TRANSITIVE", "FULL_TRANSITIVE", "FORWARD_TRANSITIVE")[number % 3]
            await attacker.apply("namespaceschemapolicies", _policy(strategy))
            number += 1

    await asyncio.gather(*(edit(number) for number in range(8)))


ATTACKS: Final[Mapping[str, Callable[[Attacker], Coroutine[Any, Any, None]]]] = {
    "nothing": nothing,
    "bodies": bodies,
    "posts": posts,
    "half-sent": half_sent,
    "headers": headers,
    "values": values,
    "broken": broken,
    "policies": policies,
}


def attack(name: str, target: Target, is_prepared: Prepared) -> None:
    """Attack until this process is ended, at a lower priority than the measurement."""

    async def attacking() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)  # connections that the webhook resets
        async with target.session() as session:
            attacker = Attacker(target, session, is_prepared)
            response = await attacker.apply("namespaceschemapolicies", _policy("FULL_TRANSITIVE"))
            assert response.startswith("2"), response
            await ATTACKS[name](attacker)

    os.nice(10)
    asyncio.run(attacking())
