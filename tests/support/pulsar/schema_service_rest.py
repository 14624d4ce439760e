"""`schema_service` behind Pulsar's REST paths of schemas, on loopback.

It can have more versions, or larger ones, than a test can upload to a real broker in time.
"""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote

from aiohttp import web

from support.http_server import serve
from support.pulsar.schema_service import PulsarSchemas, RefusedError
from topicschema.core.formats import key_value
from topicschema.core.remote import RemoteVersion
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy

_SETTINGS = {
    "schemaCompatibilityStrategy": "schema_compatibility_strategy",
    "isAllowAutoUpdateSchema": "is_allow_auto_update_schema",
    "schemaValidationEnforced": "schema_validation_enforced",
}
_OF_TENANT = 2
_MISSING = {"reason": "Schema not found"}
_OWN = {
    401: "Unauthorized to validateTopicPolicyOperation for operation [READ] on topic",
    403: "Don't have permission to administrate resources on this topic",
    404: "Topic persistent://shop/orders/created not found",
    405: "Topic level policies is disabled",
    412: "Topic name is not valid",
}
"""The broker's reasons to refuse a topic's own settings."""


def _do_nothing(number: int) -> None:
    """Do nothing: no other client acts."""
    del number


@dataclass(slots=True)
class FakeSchemaBroker:
    """The fake broker. `calls` are its schema requests as METHOD and the part of the path after the topic.

    While `is_forbidden` it responds 403 to all; if `token` is set, 401 to requests without it. `settings` are those of
    its Pulsar namespaces; its own are shown if `are_own_settings_shown`. `admins` are the tenants that the client may
    manage, or None for all. The statuses of responses are: `settings_status` for writes of these settings,
    `topic_settings_status` for those of a topic, `upload_status` for uploads. `topics` are the topics' names, None if
    listing them is forbidden. `producers` are the publishers in their stats, None if reading those is forbidden.
    `is_index_forbidden` is True if listing versions is. The `..._reads` count requests. `on_call` is called with the
    number of each schema request, from 1, before its execution: for concurrent changes.
    """

    schemas: PulsarSchemas
    url: str = ""
    calls: list[str] = field(default_factory=list)
    on_call: Callable[[int], object] = _do_nothing
    is_forbidden: bool = False
    token: str = ""
    topic_settings_status: int = 200
    topic_settings_reads: int = 0
    upload_status: int = 200
    settings_status: int = 200
    are_settings_shown: bool = True
    are_own_settings_shown: bool = True
    admins: tuple[str, ...] | None = None
    is_index_forbidden: bool = False
    version: str = "4.0.7"
    topics: tuple[str, ...] | None = ()
    producers: dict[str, list[dict[str, Any]]] | None = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=lambda: {"schema_validation_enforced": False})

    @property
    def writes(self) -> list[str]:
        return [call for call in self.calls if not call.startswith("GET")]

    async def handle(self, request: web.Request) -> web.StreamResponse:
        is_unknown = bool(self.token) and request.headers.get("Authorization") != f"Bearer {self.token}"
        if is_unknown or self.is_forbidden:
            reason = "Authentication required" if is_unknown else "Don't have permission"
            return web.json_response({"reason": reason}, status=401 if is_unknown else 403)
        parts = request.path.strip("/").split("/")
        self.requests.append(f"{request.method} /{'/'.join(parts[2:])}")
        if parts[2] != "schemas":
            return await self._other(parts[2:], request)
        topic, endpoint = unquote(parts[5]), "/".join(parts[6:])
        self.calls.append(f"{request.method} {endpoint}")
        self.on_call(len(self.calls))
        if request.method == "GET":
            return self._read(topic, endpoint)
        if endpoint == "version":
            return web.json_response({"version": self.schemas.number_of(topic, await _sent(request))})
        try:
            number = (
                self.schemas.soft_delete(topic) if request.method == "DELETE" else await self._upload(topic, request)
            )
        except RefusedError as refused:
            return web.json_response({"message": "no"}, status=refused.status)
        return web.json_response({"version": number if request.method == "DELETE" else {"version": number}})

    async def _other(self, parts: list[str], request: web.Request) -> web.Response:
        """Respond to a request that is not about schemas: about a Pulsar namespace, the broker or a topic."""
        if parts[0] == "namespaces" and len(parts) == _OF_TENANT:
            is_admin = self.admins is None or parts[1] in self.admins
            return web.json_response([], status=200 if is_admin else 403)
        if parts[0] == "namespaces":
            return await self._namespace(parts[3:], request)
        if parts[0] == "brokers":
            is_shown = self.are_own_settings_shown
            return self._version() if parts[1] == "version" else web.json_response({}, status=200 if is_shown else 403)
        if parts[4:] == ["stats"]:
            stats = {"publishers": (self.producers or {}).get(unquote(parts[3]), [])}
            return web.json_response(stats, status=403 if self.producers is None else 200)
        if parts[4:]:
            return await self._own(unquote(parts[3]), parts[4], request)
        is_list = parts == ["persistent", "shop", "orders"]  # and not one of non-persistent or partitioned topics
        names = [f"persistent://shop/orders/{name}" for name in self.topics or () if is_list]
        return web.json_response(names, status=403 if self.topics is None else 200)

    def _version(self) -> web.Response:
        return web.Response(text=self.version)

    async def _namespace(self, setting: list[str], request: web.Request) -> web.Response:
        """Return the settings of the Pulsar namespace, or write one. Its strategy decides about schemas."""
        if request.method == "GET" and not self.are_settings_shown:
            return web.json_response({"reason": "no"}, status=403)
        if request.method == "GET":
            return web.json_response(self.settings)
        if self.settings_status != HTTPStatus.OK:
            return web.json_response({"reason": "no"}, status=self.settings_status)
        value = await request.json()
        self.settings[_SETTINGS[setting[0]]] = value
        if "allowAutoUpdateSchemaWithReplicator" in request.query:
            allows = request.query["allowAutoUpdateSchemaWithReplicator"] == "true"
            self.settings["is_allow_auto_update_schema_with_replicator"] = allows
        if setting == ["schemaCompatibilityStrategy"]:
            self.schemas.strategy = Strategy.FULL if value == Strategy.UNDEFINED else Strategy(value)
        return web.Response(status=204)

    async def _own(self, topic: str, setting: str, request: web.Request) -> web.Response:
        self.topic_settings_reads += request.method == "GET"
        if self.topic_settings_status != HTTPStatus.OK:
            return web.json_response({"reason": _OWN[self.topic_settings_status]}, status=self.topic_settings_status)
        if setting == "partitions":
            return web.json_response({"partitions": 0})
        key = {"schemaCompatibilityStrategy": "strategy", "schemaValidationEnforced": "enforced"}[setting]
        if request.method == "GET":
            return web.json_response(self.schemas.settings.get(topic, {}).get(key))
        sent = await request.json()
        is_unset = sent == Strategy.UNDEFINED
        value = sent if isinstance(sent, bool) else None if is_unset else Strategy(sent)
        self.schemas.settings.setdefault(topic, {})[key] = value
        return web.Response(status=204)

    async def _upload(self, topic: str, request: web.Request) -> int:
        if self.upload_status != HTTPStatus.OK:
            raise RefusedError(self.upload_status)
        return self.schemas.upload(topic, await _sent(request))

    def _read(self, topic: str, endpoint: str) -> web.Response:
        served, index = self.schemas.served(topic), self.schemas.index(topic)
        if self.is_index_forbidden and endpoint == "metadata":
            return web.json_response({"reason": "no"}, status=403)
        if endpoint == "metadata":
            metadata = {"index": [{"version": number} for number in index]}
            return web.Response(text=json.dumps(metadata) if index else "", content_type="application/json")
        if endpoint == "schemas":
            return web.json_response({"getSchemaResponses": [_wire(version) for version in served]})
        number = endpoint.partition("/")[2]
        matches = [each for each in served if not number or each.schema_version == int(number)]
        return web.json_response(_wire(matches[-1])) if matches else web.json_response(_MISSING, status=404)


async def _sent(request: web.Request) -> SchemaInfo:
    """Return the schema of the request, as it is stored."""
    body = await request.json()
    kind, text = SchemaType(body["type"]), body["schema"]
    stored = key_value.payload_of(text) if kind is SchemaType.KEY_VALUE else text.encode()
    return SchemaInfo(kind, stored, body.get("properties") or {})


def _shown(info: SchemaInfo) -> str:
    """Return the text of a schema. That of a pair has its numbers rewritten and no text of a STRING part."""
    if info.type is not SchemaType.KEY_VALUE:
        return info.schema.decode()
    parts = [part.info for _, part in key_value.decode(info).parts]
    texts = [b"" if part.type is SchemaType.STRING else part.schema for part in parts]
    return json.dumps(json.loads(key_value.text_of(key_value.join(*texts))), ensure_ascii=False)


def _wire(version: RemoteVersion) -> dict[str, Any]:
    info = version.info
    return {
        "version": version.schema_version,
        "type": info.type.value,
        "timestamp": int(datetime.fromisoformat(version.registered_at).timestamp() * 1000),
        "data": _shown(info),
        "properties": dict(info.properties),
    }


@asynccontextmanager
async def run_schema_broker(schemas: PulsarSchemas) -> AsyncIterator[FakeSchemaBroker]:
    broker = FakeSchemaBroker(schemas)
    async with serve(broker.handle) as broker.url:
        yield broker
