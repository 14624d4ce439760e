"""`schema_service` behind Pulsar's REST paths of schemas, on loopback.

A broker with more versions, or larger ones, than a real one can be given in a test's time.
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

from support.http_server import served
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
_MISSING = {"reason": "Schema not found"}
_OWN = {
    401: "Unauthorized to validateTopicPolicyOperation for operation [READ] on topic",
    403: "Don't have permission to administrate resources on this topic",
    404: "Topic persistent://shop/orders/created not found",
    405: "Topic level policies is disabled",
    412: "Topic name is not valid",
}
"""Why a broker does not tell a topic's own settings."""


def _nothing(number: int) -> None:
    """Nobody else does anything."""
    del number


@dataclass(slots=True)
class PulsarAtTheWire:
    """The broker, and the calls that it got as METHOD and the part of the path after the topic.

    `is_shut` while it lets nobody in; it knows nobody without `token`, if there is one. `settings` are those of its
    Pulsar namespaces, `settings_status` is how it answers who writes them, `own_status` who asks for a topic's own,
    `upload_status` who uploads; `asked_for_own` is how often somebody asked, `asked_for_settings` how often for those
    of the Pulsar namespace; `hides_numbers` where nobody may ask which versions there are. `happens` is told the number
    of each call of schemas, from 1, before it is carried out: what others do meanwhile.
    """

    schemas: PulsarSchemas
    url: str = ""
    calls: list[str] = field(default_factory=list)
    happens: Callable[[int], object] = _nothing
    is_shut: bool = False
    token: str = ""
    own_status: int = 200
    asked_for_own: int = 0
    upload_status: int = 200
    settings_status: int = 200
    asked_for_settings: int = 0
    are_settings_shown: bool = True
    hides_numbers: bool = False
    version: str = "4.0.7"
    settings: dict[str, Any] = field(default_factory=lambda: {"schema_validation_enforced": False})

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """What Pulsar answers to this."""
        if self.token and request.headers.get("Authorization") != f"Bearer {self.token}":
            return web.Response(status=401)
        return await self._answer(request)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        """What it answers to whom it knows."""
        if self.is_shut:
            return web.json_response({"reason": "Don't have permission"}, status=403)
        parts = request.path.strip("/").split("/")
        if parts[2] != "schemas":
            return await self._other(parts[2:], request)
        topic, what = unquote(parts[5]), "/".join(parts[6:])
        self.calls.append(f"{request.method} {what}")
        self.happens(len(self.calls))
        if request.method == "GET":
            return self._read(topic, what)
        if what == "version":
            return web.json_response({"version": self.schemas.number_of(topic, await _sent(request))})
        try:
            number = (
                self.schemas.soft_delete(topic) if request.method == "DELETE" else await self._upload(topic, request)
            )
        except RefusedError as refused:
            return web.json_response({"message": "no"}, status=refused.status)
        return web.json_response({"version": number if request.method == "DELETE" else {"version": number}})

    async def _other(self, parts: list[str], request: web.Request) -> web.Response:
        """What is no schema: of a Pulsar namespace, of the broker itself, or of a topic."""
        if parts[0] == "namespaces":
            return await self._namespace(parts[3:], request)
        if parts[0] == "brokers":
            return web.Response(text=self.version) if parts[1] == "version" else web.json_response({})
        return await self._own(unquote(parts[3]), parts[4], request)

    async def _namespace(self, setting: list[str], request: web.Request) -> web.Response:
        """The settings of the Pulsar namespace, or one of them written; schemas are judged by its strategy."""
        self.asked_for_settings += request.method == "GET"
        if request.method == "GET" and not self.are_settings_shown:
            return web.json_response({"reason": "no"}, status=403)
        if request.method == "GET":
            return web.json_response(self.settings)
        if self.settings_status != HTTPStatus.OK:
            return web.json_response({"reason": "no"}, status=self.settings_status)
        wanted = await request.json()
        self.settings[_SETTINGS[setting[0]]] = wanted
        if setting == ["schemaCompatibilityStrategy"]:
            self.schemas.strategy = Strategy.FULL if wanted == Strategy.UNDEFINED else Strategy(wanted)
        return web.Response(status=204)

    async def _own(self, topic: str, setting: str, request: web.Request) -> web.Response:
        """The topic's own setting, read or written, as a topic has it that exists."""
        self.asked_for_own += request.method == "GET"
        if self.own_status != HTTPStatus.OK:
            return web.json_response({"reason": _OWN[self.own_status]}, status=self.own_status)
        if setting == "partitions":
            return web.json_response({"partitions": 0})
        key = {"schemaCompatibilityStrategy": "strategy", "schemaValidationEnforced": "enforced"}[setting]
        if request.method == "GET":
            return web.json_response(self.schemas.settings.get(topic, {}).get(key))
        wanted = await request.json()
        is_unset = wanted == Strategy.UNDEFINED
        value = wanted if isinstance(wanted, bool) else None if is_unset else Strategy(wanted)
        self.schemas.settings.setdefault(topic, {})[key] = value
        return web.Response(status=204)

    async def _upload(self, topic: str, request: web.Request) -> int:
        if self.upload_status != HTTPStatus.OK:
            raise RefusedError(self.upload_status)
        return self.schemas.upload(topic, await _sent(request))

    def _read(self, topic: str, what: str) -> web.Response:
        served, index = self.schemas.served(topic), self.schemas.index(topic)
        if self.hides_numbers and what == "metadata":
            return web.json_response({"reason": "no"}, status=403)
        if what == "metadata":
            found = {"index": [{"version": number} for number in index]}
            return web.Response(text=json.dumps(found) if index else "", content_type="application/json")
        if what == "schemas":
            return web.json_response({"getSchemaResponses": [_wire(version) for version in served]})
        number = what.partition("/")[2]
        asked = [each for each in served if not number or each.schema_version == int(number)]
        return web.json_response(_wire(asked[-1])) if asked else web.json_response(_MISSING, status=404)


async def _sent(request: web.Request) -> SchemaInfo:
    """The schema that the request has, as it is stored."""
    body = await request.json()
    kind, text = SchemaType(body["type"]), body["schema"]
    stored = key_value.payload_of(text) if kind is SchemaType.KEY_VALUE else text.encode()
    return SchemaInfo(kind, stored, body.get("properties") or {})


def _shown(info: SchemaInfo) -> str:
    """The text of a schema; of a pair with fractions spelt anew, and without text of a STRING part."""
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
async def serving(schemas: PulsarSchemas) -> AsyncIterator[PulsarAtTheWire]:
    """The broker, listening while the context lasts."""
    broker = PulsarAtTheWire(schemas)
    async with served(broker.answer) as broker.url:
        yield broker
