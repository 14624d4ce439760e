"""Reviews over a socket: the real application, client and record, and a fake API server on loopback."""

import contextlib
import io
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
from aiohttp import web

from support.kubernetes.api_server import FakeApiServer, Object
from topicschema.api import PULSAR_NAMESPACES_ANNOTATION
from topicschema.api.kinds import NAMESPACE, NAMESPACE_SCHEMA_POLICY, TOPIC_SCHEMA
from topicschema.cluster.client import ApiClient
from topicschema.core import formats
from topicschema.core.history import History, NumberedBy, Origin, Owner
from topicschema.core.imports import entry_of
from topicschema.core.remote import RemoteVersion
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType
from topicschema.core.topics import PulsarNamespaceKey, Topic, TopicKey
from topicschema.judging.judge import Judge
from topicschema.settings import WebhookSettings
from topicschema.storage.kubernetes.storage import KubernetesStorage
from topicschema.storage.protocol import Stored
from topicschema.webhook.server import Endpoint, reviewers

SYSTEM = "topicschema-system"
PROFILE: Mapping[str, Any] = {"brokerProfile": {"pulsarVersion": "4.0"}}
"""The part of a policy's spec for a policy that names no broker."""
TOPIC = "persistent://shop/orders/created"
KEY = TopicKey("pulsar", Topic.parse(TOPIC))
TIME = "2026-11-21T05:30:00Z"


def record_schema(*fields: Mapping[str, Any], **members: Any) -> str:
    """Return the text of a record schema named Order with these fields."""
    return json.dumps({"type": "record", "name": "Order", "fields": list(fields), **members})


ID = {"name": "id", "type": "string"}
NOTE = {"name": "note", "type": "string"}
NOTE_WITH_DEFAULT = {**NOTE, "default": ""}
V0 = record_schema(ID)


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    text: str

    @property
    def response(self) -> dict[str, Any]:
        assert self.status == 200, self.text
        response: dict[str, Any] = json.loads(self.text)["response"]
        return response

    @property
    def is_allowed(self) -> bool:
        return bool(self.response["allowed"])

    @property
    def warnings(self) -> list[str]:
        return list(self.response.get("warnings", []))

    @property
    def refusal(self) -> dict[str, Any]:
        assert not self.is_allowed
        status: dict[str, Any] = self.response["status"]
        return status

    @property
    def causes(self) -> list[dict[str, str]]:
        return list(self.refusal["details"]["causes"])

    @property
    def rules(self) -> list[str]:
        return [cause["message"].split()[0].rstrip(":") for cause in self.causes]


class World:
    """The Kubernetes namespace `shop` of a test, and the webhook that reviews its objects."""

    def __init__(self, api: FakeApiServer, client: ApiClient, session: aiohttp.ClientSession) -> None:
        self.api = api
        self.storage = KubernetesStorage(client, SYSTEM)
        self._session = session

    async def policy(
        self, name: str = "orders", namespace: str = "shop", status: Mapping[str, Any] | None = None, **spec: Any
    ) -> Object:
        """Store a policy for shop/orders that holds the claim."""
        wire = {"spec": new_policy(**spec)["spec"], "status": status or {}}
        stored = self.api.put(NAMESPACE_SCHEMA_POLICY, namespace, name, wire)
        await self.claim(owner_of(stored))
        return stored

    async def claim(self, owner: Owner | None, address: str = "") -> None:
        stored = await self.storage.get_claim(PulsarNamespaceKey("pulsar", "shop", "orders"))
        await self.storage.put_claim(stored, owner, address)

    def namespace(self, name: str, globs: str | None) -> None:
        annotations = {} if globs is None else {PULSAR_NAMESPACES_ANNOTATION: globs}
        self.api.put(NAMESPACE, "", name, {"metadata": {"annotations": annotations}})

    async def versions(
        self,
        *texts: str,
        claim: Owner | None = None,
        topic: str = TOPIC,
        pulsar_version: PulsarVersion = PulsarVersion.V4_0,
    ) -> None:
        """Store these AVRO schemas as the topic's next versions."""
        stored = await self.storage.get_history(TopicKey("pulsar", Topic.parse(topic)))
        for text in texts:
            schema = formats.parse(avro(text), pulsar_version)
            history = stored.history.with_version(schema, Origin.SPEC, TIME).parsed_by(pulsar_version)
            stored = await self.storage.put(stored, history.claimed_by(claim), (schema.info,))

    async def adopt(self, *infos: SchemaInfo, claim: Owner | None = None) -> None:
        """Store these schemas as the versions that the topic's broker has, as a policy of 4.0 reads them."""
        versions = (RemoteVersion(number, each, TIME) for number, each in enumerate(infos))
        entries = tuple(entry_of(each, PulsarVersion.V4_0) for each in versions)
        await self.storage.put(Stored(History(KEY)), History(KEY, claim, 0, entries, NumberedBy.BROKER), infos)

    async def topic(
        self, *texts: str, name: str = "created", pulsar_version: PulsarVersion = PulsarVersion.V4_0, **spec: Any
    ) -> Object:
        """Store a TopicSchema in `shop`, and these schemas as the versions of its topic, which it owns."""
        address = f"persistent://shop/orders/{name}"
        stored = self.resource(name, **{"topic": address, "schema": texts[-1], **spec})
        await self.versions(*texts, claim=owner_of(stored), topic=address, pulsar_version=pulsar_version)
        return stored

    def resource(self, name: str = "created", status: Mapping[str, Any] | None = None, **spec: Any) -> Object:
        members = {"topic": TOPIC, "type": "AVRO", "schema": V0, **spec}
        return self.api.put(TOPIC_SCHEMA, "shop", name, {"spec": members, "status": status or {}})

    async def create(self, schema: str = V0, **spec: Any) -> Reply:
        """Request a review of a new TopicSchema in `shop`."""
        return await self.review(new_topic({"topic": TOPIC, "type": "AVRO", "schema": schema, **spec}))

    async def edit(self, old: Object, **spec: Any) -> Reply:
        return await self.review({**old, "spec": {**old["spec"], **spec}}, old)

    async def review(self, new: Any, old: Any = None, operation: str = "") -> Reply:
        """POST the AdmissionReview with these objects."""
        operation = operation or ("CREATE" if old is None else "UPDATE")
        kind = (new or old or {}).get("kind", "TopicSchema")
        request = {
            "uid": "4711",
            "kind": {"group": "topicschema.io", "version": "v1alpha1", "kind": kind},
            "operation": operation,
            "namespace": "shop",
            "name": "created",
            "object": new,
            "oldObject": old,
        }
        return await self.post(as_go_writes({"kind": "AdmissionReview", "request": request}))

    async def post(self, body: bytes, timeout: str = "10s") -> Reply:  # noqa: ASYNC109 - what the API server sends
        async with self._session.post("/review", data=io.BytesIO(body), params={"timeout": timeout}) as response:
            return Reply(response.status, await response.text())


def owner_of(resource: Object) -> Owner:
    metadata = resource["metadata"]
    return Owner(metadata["namespace"], metadata["name"], metadata["uid"])


def avro(text: str) -> SchemaInfo:
    return SchemaInfo(SchemaType.AVRO, text.encode())


def as_go_writes(wire: Any) -> bytes:
    """Return JSON as the API server sends it: UTF-8, with three characters escaped."""
    text = json.dumps(wire, separators=(",", ":"), ensure_ascii=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026").encode()


def new_topic(spec: Any, name: str = "created") -> Object:
    """Return a TopicSchema as the API server sends a new one."""
    metadata = {"name": name, "namespace": "shop", "uid": f"uid-{name}", "generation": 1}
    return {"apiVersion": "topicschema.io/v1alpha1", "kind": "TopicSchema", "metadata": metadata, "spec": spec}


def new_policy(**spec: Any) -> Object:
    """Return a NamespaceSchemaPolicy of shop/orders as the API server sends a new one."""
    metadata = {"name": "orders", "namespace": "shop", "uid": "uid-orders", "generation": 1}
    members = {"pulsarCluster": "pulsar", "pulsarNamespace": "shop/orders", **PROFILE, **spec}
    return {"kind": "NamespaceSchemaPolicy", "metadata": metadata, "spec": members}


@asynccontextmanager
async def run_endpoint(endpoint: Endpoint, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """Run the endpoint on a socket of loopback, and yield its port."""
    runner = endpoint.runner()
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


@asynccontextmanager
async def run_webhook(**environment: str) -> AsyncIterator[World]:
    """Run the webhook's application on a socket, with an empty fake API server."""
    settings = WebhookSettings.load({"TOPICSCHEMA_NAMESPACE": SYSTEM, **environment})
    async with FakeApiServer().running() as api, ApiClient(api.connection) as client:
        storage = KubernetesStorage(client, SYSTEM)
        with contextlib.closing(Judge(storage)) as judge:
            async with (
                run_endpoint(Endpoint(reviewers(client, judge, storage, settings))) as port,
                aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session,
            ):
                yield World(api, client, session)
