"""The paths of the API: who may call what, and the answer to each call."""

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, Final

from aiohttp import web

from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY, TOPIC_SCHEMA, Kind
from topicschema.cluster.client import ApiClient
from topicschema.core.errors import StalledError, WaitingError
from topicschema.core.remote import Setting
from topicschema.core.schemas import SchemaInfo
from topicschema.core.topics import TopicKey
from topicschema.https import bodies
from topicschema.https.bodies import Bodies, BodyRefusedError, MalformedBodyError
from topicschema.registry import answers, namespace_settings, openapi, requests
from topicschema.registry.access import Access
from topicschema.registry.answers import Form, RestError, of_json, unavailable
from topicschema.registry.governing import Governance, Governed
from topicschema.registry.namespace_settings import SETTINGS
from topicschema.registry.reads import Reads
from topicschema.registry.requests import RequestPath
from topicschema.registry.writes import Accepted, Writes
from topicschema.telemetry import INTERNAL_ERRORS, REGISTRY_REQUEST_DURATION, REGISTRY_REQUESTS

_LOG = logging.getLogger(__name__)
_JSON: Final = "application/json"
_CALL: Final = "call"
_READ: Final = ("get",)
_ACCEPTED: Final = frozenset({"", "*", "*/*", "*/json", "application/*", _JSON})
_MEDIA_TYPE: Final = re.compile(r"\s*[^\s/;,]+/[^\s/;,]+\s*(;[^,]*)?")


@dataclass(frozen=True, slots=True)
class Call:
    """A request of a known client for a topic or a Pulsar namespace. `body` is that of a POST or a PUT."""

    request: web.Request
    target: RequestPath
    governed: Governed
    body: bytes = b""

    @property
    def key(self) -> TopicKey:
        """The key of the topic."""
        return TopicKey(self.governed.key.registry, self.target.topic)

    async def schema(self, *, is_stored: bool = False) -> SchemaInfo:
        """Return the schema of the body. Raises RestError."""
        return await _schema_of(self.body, is_stored=is_stored)


async def _schema_of(body: bytes, *, is_stored: bool = False) -> SchemaInfo:
    try:
        value = await bodies.parse(body, requests.loads) if body.strip() else None
    except MalformedBodyError as error:
        raise RestError(400, str(error), Form.TEXT) from None
    return requests.schema_of(value, is_stored=is_stored)


@dataclass(frozen=True, slots=True)
class Api:
    """The application. Once `stop` is set, each answer closes its connection."""

    client: ApiClient
    access: Access
    governing: Governance
    reads: Reads
    writes: Writes
    bodies: Bodies = field(default_factory=Bodies)
    stop: asyncio.Event = field(default_factory=asyncio.Event)

    def application(self) -> web.Application:
        """Return the application."""
        application = web.Application()
        application.router.add_route("*", r"/{path:[\s\S]*}", self.answer)
        return application

    async def answer(self, request: web.Request) -> web.Response:
        """Answer a request. A bug is answered with 500, and only the log has its traceback."""
        started = time.perf_counter()
        try:
            response = await self._answer(request)
        except RestError as error:
            response = self._error(request, error)
        except BodyRefusedError as error:
            response = self._error(request, RestError(error.status, str(error)))
        except WaitingError as error:
            response = self._error(request, unavailable(f"{error.reason}: {error.message}", error.after))
        except StalledError as error:
            response = self._error(request, RestError(409, f"{error.reason}: {error.message}"))
        except Exception:  # noqa: BLE001 - a bug is counted, logged and answered only here
            INTERNAL_ERRORS.labels("registry").inc()
            _LOG.exception("unexpected error during a request", extra={"fields": {"call": request.get(_CALL)}})
            response = self._error(
                request, RestError(500, "a bug in topicschema; the registry's log has its traceback")
            )
        call = request.get(_CALL, "none")
        REGISTRY_REQUESTS.labels(call, str(response.status)).inc()
        REGISTRY_REQUEST_DURATION.labels(call).observe(time.perf_counter() - started)
        if self.stop.is_set():
            response.force_close()
        return response

    def _error(self, request: web.Request, error: RestError) -> web.Response:
        return answers.of_error(error, request.path, request.headers.get("Accept", ""))

    async def _answer(self, request: web.Request) -> web.Response:
        user = await self.access.user(request.headers.get("Authorization", ""))
        with self.access.counted(user), self.bodies.body(request) as body:
            if request.path == openapi.PATH:
                return of_json(openapi.document())
            target = requests.target_of(request.raw_path)
            operations = _operations(target)
            if request.method == "OPTIONS":
                return web.Response(headers={"Allow": _methods(operations)})
            endpoint = _endpoint(request, operations)
            request[_CALL] = endpoint.answer.__name__
            content = await body.read(request) if request.method in ("POST", "PUT") else b""
            try:
                target = target.named()
            except RestError:
                await endpoint.check_body(target, content)
                raise
            governed = await self.governing.find(target)
            call = Call(request, target, governed, content)
            if governed.holder is None:
                return await endpoint.answer_without_policy(call)
            for verb in endpoint.verbs:
                await self.access.require(user, verb, endpoint.kind, governed.holder.namespace)
            response = await endpoint.answer(self, call)
            if endpoint.verbs != _READ:
                fields = {"user": user.name, "call": request[_CALL], "path": request.path, "status": response.status}
                _LOG.info("a client wrote", extra={"fields": fields})
            return response

    async def latest(self, call: Call) -> web.Response:
        """Answer with the newest version."""
        return of_json(await self.reads.latest(call.key))

    async def version(self, call: Call) -> web.Response:
        """Answer with the version that the path names."""
        return of_json(await self.reads.version(call.key, requests.version_of(call.target.call[1])))

    async def versions(self, call: Call) -> web.Response:
        """Answer with all versions."""
        return of_json(await self.reads.versions(call.key))

    async def metadata(self, call: Call) -> web.Response:
        """Answer with the numbers of all entries, or with an empty body."""
        metadata = await self.reads.metadata(call.key)
        return web.Response() if metadata is None else of_json(metadata)

    async def number_of(self, call: Call) -> web.Response:
        """Answer with the number of exactly this schema."""
        return of_json(await self.reads.number_of(call.key, await call.schema()))

    async def compatibility(self, call: Call) -> web.Response:
        """Answer if the schema is compatible."""
        info, active = await call.schema(), await self.governing.policy(call.governed, call.target.topic)
        strategy = await self.writes.strategy(call.key, active)
        return of_json(await self.reads.compatibility(call.key, info, active, strategy), status=202)

    async def register(self, call: Call) -> web.Response:
        """Register the schema."""
        info, active = await call.schema(is_stored=True), await self.governing.policy(call.governed, call.target.topic)
        result = await self.writes.register(call.key, info, active)
        if isinstance(result, Accepted):
            return of_json({"reason": result.message}, status=202)
        return of_json({"version": {"version": result}})

    async def delete(self, call: Call) -> web.Response:
        """Delete all versions."""
        active = await self.governing.policy(call.governed, call.target.topic)
        is_forced = call.request.query.get("force", "").lower() == "true"
        return of_json({"version": await self.writes.delete(call.key, active, is_forced=is_forced)})

    async def get_setting(self, call: Call) -> web.Response:
        """Answer with a setting of the Pulsar namespace."""
        active = await self.governing.policy(call.governed)
        return of_json(namespace_settings.value_of(Setting(call.target.call[0]), active))

    async def set_setting(self, call: Call) -> web.Response:
        """Write a setting of the Pulsar namespace."""
        setting = Setting(call.target.call[0])
        value, active = namespace_settings.sent(setting, call.body), await self.governing.policy(call.governed)
        await namespace_settings.write(self.client, setting, value, active)
        return web.Response(status=204)


@dataclass(frozen=True, slots=True)
class Operation:
    """A call: the verbs that its client needs on the kind in the namespace of the policy, and its answer.

    `ungoverned` is the answer about a topic of a Pulsar namespace without a policy, or the reason of a 404. None stands
    for an empty body.
    """

    answer: Callable[[Api, Call], Awaitable[web.Response]]
    verbs: tuple[str, ...]
    ungoverned: Mapping[str, Any] | str | None = "Namespace does not exist"
    kind: Kind = TOPIC_SCHEMA

    async def answer_without_policy(self, call: Call) -> web.Response:
        """Return the answer, or raise RestError 404, after the broker's own checks of the request."""
        if self.answer is Api.version:
            requests.version_of(call.target.call[1])
        if self.answer is Api.number_of:
            await call.schema()
        else:
            await self.check_body(call.target, call.body)
        if isinstance(self.ungoverned, str):
            raise answers.not_found(self.ungoverned)
        return web.Response() if self.ungoverned is None else of_json(self.ungoverned)

    async def check_body(self, target: RequestPath, body: bytes) -> None:
        """Raise RestError 400 if the broker cannot read the body, which it does before it checks names."""
        if self.answer is Api.set_setting:
            namespace_settings.sent(Setting(target.call[0]), body)
        if self.answer in (Api.register, Api.compatibility, Api.number_of):
            try:
                await _schema_of(body)
            except RestError as error:
                if error.status == HTTPStatus.BAD_REQUEST:
                    raise


_MISSING: Final = "Schema not found"
_OF_TOPICS: Final[Mapping[tuple[str, str], Operation]] = MappingProxyType(
    {
        ("GET", "schema"): Operation(Api.latest, _READ, _MISSING),
        ("GET", "schema/"): Operation(Api.version, _READ, _MISSING),
        ("GET", "schemas"): Operation(Api.versions, _READ, {"getSchemaResponses": []}),
        ("GET", "metadata"): Operation(Api.metadata, _READ, None),
        ("POST", "version"): Operation(Api.number_of, _READ, {"version": -1}),
        ("POST", "compatibility"): Operation(Api.compatibility, _READ),
        ("POST", "schema"): Operation(Api.register, ("create", "patch")),
        ("DELETE", "schema"): Operation(Api.delete, ("delete",)),
    }
)
_OF_NAMESPACES: Final[Mapping[tuple[str, str], Operation]] = MappingProxyType(
    {
        **{("GET", each): Operation(Api.get_setting, _READ, kind=NAMESPACE_SCHEMA_POLICY) for each in SETTINGS},
        **{
            (method, each): Operation(Api.set_setting, ("patch",), kind=NAMESPACE_SCHEMA_POLICY)
            for each, method in SETTINGS.items()
        },
    }
)


def _operations(target: RequestPath) -> dict[str, Operation]:
    """Return the operations of the path by their methods. Raises RestError 404 if there are none."""
    call, operations = target.call, _OF_TOPICS if target.root == "schemas" else _OF_NAMESPACES
    name = "schema/" if len(call) == 2 and call[0] == "schema" else "/".join(call)  # noqa: PLR2004 - with a number
    by_method = {method: each for (method, of), each in operations.items() if of == name}
    if not by_method:
        raise RestError(404, "Not Found", Form.PAGE)
    return by_method | ({"HEAD": by_method["GET"]} if "GET" in by_method else {})


def _methods(operations: Mapping[str, Operation]) -> str:
    return ", ".join((*operations, "OPTIONS"))


def _endpoint(request: web.Request, operations: Mapping[str, Operation]) -> Operation:
    """Return what answers the request. Raises RestError 400, 405, 406 or 415 as the broker's containers do."""
    if request.method not in operations:
        raise RestError(405, "Method Not Allowed", Form.PAGE, {"Allow": _methods(operations)})
    if not _MEDIA_TYPE.fullmatch(request.headers.get("Content-Type", _JSON)):
        raise RestError(400, "Bad Request", Form.PAGE)
    if request.method in ("POST", "PUT") and request.content_type != _JSON:
        raise RestError(415, "Unsupported Media Type", Form.PAGE)
    accepted = request.headers.get("Accept", "").lower()
    if not any(each.partition(";")[0].strip() in _ACCEPTED for each in accepted.split(",")):
        raise RestError(406, "Not Acceptable", Form.PAGE)
    return operations[request.method]
