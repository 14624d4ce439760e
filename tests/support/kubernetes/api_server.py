"""A small API server for unit tests: a fake on loopback, so that the product's own client and adapters are tested.

It stores objects in memory and serves GET, list, POST, PUT, DELETE, a merge patch and a JSON patch of whole members.
It checks resourceVersions as Kubernetes does. It has no validation and no watch, and applies only new objects:
a test that needs more belongs to the cluster tier.
"""

import asyncio
import copy
import re
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

from aiohttp import web
from kubernetes.client import Configuration

from support.http_server import serve
from topicschema.api.kinds import Kind
from topicschema.cluster.connection import ApiConnection

Object = dict[str, Any]


class FakeApiServer:
    """The objects by path. `requests` are the requests as `METHOD path`, `largest` is the size of the largest response.

    While `is_unavailable`, the server responds 503; while `is_silent`, it does not respond. `refusals` are the statuses
    of refused requests, by the beginning of `METHOD path`; `logs` are the logs of pods by name.
    """

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.request_received = asyncio.Event()
        self.is_unavailable = False
        self.is_silent = False
        self.refusals: dict[str, int] = {}
        self.logs: dict[str, str] = {}
        self.largest = 0
        self._end = asyncio.Event()
        self._objects: dict[str, Object] = {}
        self._resource_version = 0
        self._url = ""

    @property
    def connection(self) -> ApiConnection:
        return ApiConnection(self._url, ssl.create_default_context(), None, Configuration())

    def put(self, kind: Kind, namespace: str, name: str, members: Mapping[str, Any]) -> Object:
        """Store an object, with a fresh uid unless it has one."""
        metadata = {"name": name, "namespace": namespace, "uid": str(uuid4()), "generation": 1}
        wire: Object = {"apiVersion": kind.api_version, "kind": kind.name, **members}
        wire["metadata"] = {**metadata, **members.get("metadata", {})}
        self._store(path_of(kind, namespace, name), wire)
        return wire

    def delete(self, kind: Kind, namespace: str, name: str) -> Object:
        return self._objects.pop(path_of(kind, namespace, name))

    @property
    def writes(self) -> int:
        return self._resource_version

    def has(self, kind: Kind, namespace: str, name: str) -> bool:
        return path_of(kind, namespace, name) in self._objects

    def names(self, kind: Kind, namespace: str) -> list[str]:
        prefix = path_of(kind, namespace, "")
        return [path.removeprefix(prefix) for path in self._objects if path.startswith(prefix)]

    def respond_again(self) -> None:
        """Response what has not been answered, and from now on."""
        self.is_silent = False
        self._end.set()

    def change(self, ending: str, edit: Callable[[Object], object]) -> None:
        """Apply `edit` to the one object whose path has that ending."""
        (path,) = (path for path in self._objects if path.endswith(ending))
        edit(self._objects[path])

    @asynccontextmanager
    async def running(self) -> AsyncIterator["FakeApiServer"]:
        async with serve(self._answer) as self._url:
            try:
                yield self
            finally:
                self.respond_again()

    async def _answer(self, request: web.Request) -> web.Response:
        self.requests.append(f"{request.method} {request.path}")
        self.request_received.set()
        if self.is_silent:
            await self._end.wait()
        if self.is_unavailable:
            return _status(503, "ServiceUnavailable")
        for beginning, status in self.refusals.items():
            if self.requests[-1].startswith(beginning):
                return _status(status, "Refused")
        body = await request.json() if request.can_read_body else {}
        handlers = {
            "GET": lambda: self._get(request.path, metadata_only="PartialObjectMetadata" in request.headers["Accept"]),
            "POST": lambda: self._create(request.path, body),
            "PUT": lambda: self._write(request.path, body, creates=False),
            "PATCH": lambda: (self._merge if request.content_type == _MERGE else self._patch)(request.path, body),
            "DELETE": lambda: self._delete(request.path),
        }
        response = handlers[request.method]()
        self.largest = max(self.largest, len(response.body) if isinstance(response.body, bytes) else 0)
        return response

    def _get(self, path: str, *, metadata_only: bool) -> web.Response:
        if path in self._objects:
            return web.json_response(self._objects[path])
        pod = path.removesuffix("/log").rpartition("/")[2]
        if path.endswith("/log") and pod in self.logs:
            return web.Response(text=self.logs[pod])
        if path.rpartition("/")[2] in _PLURALS:
            root, _, plural = path.rpartition("/")
            within = re.compile(f"{re.escape(root)}/(namespaces/[^/]+/)?{plural}/")
            items = [wire for path, wire in sorted(self._objects.items()) if within.match(path)]
            if metadata_only:
                items = [{"metadata": wire["metadata"]} for wire in items]
            return web.json_response({"kind": "List", "metadata": {}, "items": items})
        return _missing(path)

    def _delete(self, path: str) -> web.Response:
        return _missing(path) if self._objects.pop(path, None) is None else _status(200, "")

    def _merge(self, path: str, body: Object) -> web.Response:
        if path not in self._objects:
            return _missing(path)
        wire = copy.deepcopy(self._objects[path])
        rest: list[tuple[Object, Object]] = [(wire, body)]
        while rest:
            target, changes = rest.pop()
            for name, value in changes.items():
                if isinstance(value, dict):
                    rest.append((target.setdefault(name, {}), value))
                else:
                    target[name] = value
        return self._write(path, wire, creates=False)

    def _patch(self, path: str, steps: Any) -> web.Response:
        path, _, part = path.partition("/status")
        if path not in self._objects and not part and "apiVersion" in steps and "uid" not in steps["metadata"]:
            return self._create(path.rpartition("/")[0], steps)
        if path not in self._objects:
            return _missing(path)
        wire = copy.deepcopy(self._objects[path])
        if isinstance(steps, dict) and "status" not in steps:  # an apply: all fields of one manager
            return self._write(path, steps, creates=False)
        if part or isinstance(steps, dict):
            return self._write(path, wire | {"status": steps["status"]}, creates=False)
        for step in steps:
            *parents, name = step["path"].strip("/").split("/")
            place = wire
            for parent in parents:
                place = place[parent]
            place[name] = step["value"]
        return self._write(path, wire, creates=False)

    def _create(self, path: str, body: Object) -> web.Response:
        body["metadata"] = {"uid": str(uuid4()), "creationTimestamp": _CREATED} | body["metadata"]
        return self._write(f"{path}/{body['metadata']['name']}", body, creates=True)

    def _write(self, path: str, body: Object, *, creates: bool) -> web.Response:
        stored = self._objects.get(path)
        if creates and stored is not None:
            return _status(409, "AlreadyExists")
        if not creates and stored is None:
            return _missing(path)
        if stored and body["metadata"].get("resourceVersion") not in (None, stored["metadata"]["resourceVersion"]):
            return _status(409, "Conflict")
        self._store(path, body)
        return web.json_response(body)

    def _store(self, path: str, wire: Object) -> None:
        self._resource_version += 1
        wire["metadata"]["resourceVersion"] = str(self._resource_version)
        self._objects[path] = wire


_CREATED = "2026-11-21T05:30:00Z"
_MERGE = "application/merge-patch+json"
_PLURALS = {
    *("events", "jobs", "namespaceschemapolicies", "pods", "pulsarnamespaceclaims"),
    *("schemahistories", "schemaversions", "topicschemas"),
}


def path_of(kind: Kind, namespace: str, name: str) -> str:
    root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    place = f"/namespaces/{namespace}" if kind.is_namespaced else ""
    return f"{root}{place}/{kind.plural}/{name}"


def _missing(path: str) -> web.Response:
    return _status(404, "NotFound", {"name": path.rpartition("/")[2]})


def _status(code: int, reason: str, details: Mapping[str, str] | None = None) -> web.Response:
    status = {"kind": "Status", "apiVersion": "v1", "code": code, "reason": reason, "message": reason}
    return web.json_response({**status, "details": details or {}}, status=code)
