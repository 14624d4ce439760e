"""ApiClient: Kubernetes objects as plain dicts, over one aiohttp session. Every call ends within the timeout.

It is on the hot path of every admission and every reconcile. So an object is returned as `json.loads` makes it, without
models or copies. Reads send no resourceVersion, so they are consistent: they include every acknowledged write.
"""

import asyncio
import copy
import io
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Self
from urllib.parse import quote, urlencode

import aiohttp
from yarl import URL

from topicschema.api.kinds import POD, Kind, Object
from topicschema.cluster import error_mapping
from topicschema.cluster.connection import ApiConnection
from topicschema.cluster.errors import ApiUnavailableError, ThrottledError

Objects = list[Object]

_JSON = "application/json"
_APPLY = "application/apply-patch+yaml"
_MERGE_PATCH = "application/merge-patch+json"
_METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_TIMEOUT_SECONDS = 10.0
_CONNECT_SECONDS = 5.0
_WATCH_SECONDS = 300
# The API server sends a bookmark about every minute, so a connection that is silent for longer is dead.
_WATCH_TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS, sock_read=90.0)
_MAX_ANSWER_BYTES = 64 << 20
_LARGE_BYTES = 1 << 20
_ESCAPED = re.compile("[\x7f-\uffff]")
_READ_TRIES = 3
_MAX_RETRY_AFTER_SECONDS = 2.0  # the caller waits for a longer Retry-After


@dataclass(frozen=True, slots=True)
class Selection:
    """Selection of the objects to list. `limit` is the size of a page, not of the result."""

    fields: str = ""
    labels: str = ""
    limit: int = 500
    metadata_only: bool = False


@dataclass(frozen=True, slots=True)
class _Request:
    method: str
    path: str
    body: object = None
    content_type: str = _JSON
    accept: str = _JSON

    def __str__(self) -> str:
        return f"{self.method} {self.path.partition('?')[0]}"[:200]


class ApiClient:
    """Client of one API server, an async context manager. `cluster.error_mapping` chooses the errors it raises."""

    def __init__(self, connection: ApiConnection, timeout_seconds: float = _TIMEOUT_SECONDS) -> None:
        self._connection = connection
        self._timeout = aiohttp.ClientTimeout(total=timeout_seconds, sock_connect=_CONNECT_SECONDS)
        self._session: aiohttp.ClientSession | None = None
        self.fence: Callable[[], None] = _no_fence

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=self._connection.ssl, keepalive_timeout=60.0),
            timeout=self._timeout,
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": "topicschema", "Accept-Encoding": "identity"},
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    def fenced(self, fence: Callable[[], None]) -> Self:
        """Return this open client with `fence` called before each write.

        An error that `fence` raises prevents the write.

        Both clients share their connections.
        """
        twin = copy.copy(self)
        twin.fence = fence
        return twin

    async def get(self, kind: Kind, namespace: str, name: str) -> Object:
        """Return the object. Raises NotFoundError only if the API server reports that this object does not exist."""
        return await self._read(_Request("GET", _path(kind, namespace, name)))

    async def list(
        self, kind: Kind, namespace: str = "", *, field_selector: str = "", label_selector: str = "", limit: int = 500
    ) -> Objects:
        """Return all objects that match, read in pages of `limit`. An empty namespace means all namespaces."""
        selection = Selection(field_selector, label_selector, limit)
        return [item async for page in self.pages(kind, namespace, selection) for item in page]

    async def pages(self, kind: Kind, namespace: str, selection: Selection) -> AsyncIterator[Objects]:
        """Yield the objects that match, one page in memory at a time, all from one consistent snapshot."""
        async for answer in self._list_answers(kind, namespace, selection):
            yield answer.get("items") or []

    async def list_metadata(self, kind: Kind, namespace: str) -> tuple[Objects, str]:
        """Return the metadata of all objects, and the resourceVersion after which `watch` continues."""
        metadata: Objects = []
        async for answer in self._list_answers(kind, namespace, Selection(metadata_only=True)):
            metadata += [item["metadata"] for item in answer.get("items") or []]
        return metadata, str(answer["metadata"]["resourceVersion"])

    async def _list_answers(self, kind: Kind, namespace: str, selection: Selection) -> AsyncIterator[Object]:
        token = ""
        while True:
            answer = await self._read(_list_request(kind, namespace, selection, token))
            yield answer
            token = (answer.get("metadata") or {}).get("continue") or ""
            if not token:
                return

    async def watch(self, kind: Kind, namespace: str, since: str) -> AsyncGenerator[tuple[str, Object]]:
        """Yield the type and the metadata of each event after the resourceVersion `since`, bookmarks too.

        It ends when the API server ends the watch. Raises ApiUnavailableError if the connection breaks, or if `since`
        is too old.
        """
        query = {"watch": "true", "resourceVersion": since, "timeoutSeconds": _WATCH_SECONDS}
        query |= {"allowWatchBookmarks": "true"}
        request = _Request("GET", f"{_path(kind, namespace)}?{urlencode(query)}", accept=_METADATA)
        async with self._response(request, _WATCH_TIMEOUT) as response:
            async for line in _lines(response):
                event = _decode(line, request)
                wire = event.get("object") or {}
                if event.get("type") == "ERROR":
                    raise error_mapping.from_answer(wire.get("code", 500), {}, json.dumps(wire).encode(), str(request))
                yield event["type"], wire["metadata"]

    async def log(self, namespace: str, pod: str, container: str, *, lines: int, limit: int) -> str:
        """Return the last `lines` of a container's log, at most `limit` bytes of them. Raises NotFoundError.

        Invalid UTF-8 is replaced. The log of a pod that has not started on a node is empty.
        """
        query = urlencode({"container": container, "tailLines": lines, "limitBytes": limit})
        path = f"{_path(POD, namespace, pod, 'log')}?{query}"
        return bytes(await self._send(_Request("GET", path, accept="*/*"))).decode(errors="replace")

    async def create(self, kind: Kind, namespace: str, body: Object) -> Object:
        """Create the object and return it. Raises ConflictError if the name exists."""
        return await self._write(_Request("POST", _path(kind, namespace), body))

    async def replace(self, kind: Kind, namespace: str, name: str, body: Object, *, subresource: str = "") -> Object:
        """Replace the object and return it. Raises ConflictError if the body's resourceVersion is not the newest."""
        return await self._write(_Request("PUT", _path(kind, namespace, name, subresource), body))

    async def apply(  # noqa: PLR0913 - an object's address is three of them
        self,
        kind: Kind,
        namespace: str,
        name: str,
        body: Object,
        *,
        field_manager: str,
        subresource: str = "",
        force: bool = True,
    ) -> Object:
        """Apply the object server-side and return it. A resourceVersion in the body is a precondition.

        Creates a missing object, but raises NotFoundError with a subresource. Raises ConflictError if the precondition
        fails, or without `force` if another manager owns a field.
        """
        query = urlencode({"fieldManager": field_manager, "force": "true" if force else "false"})
        path = _path(kind, namespace, name, subresource)
        return await self._write(_Request("PATCH", f"{path}?{query}", body, _APPLY))

    async def patch(
        self, kind: Kind, namespace: str, name: str, body: object, *, content_type: str = _MERGE_PATCH
    ) -> Object:
        """Apply a merge patch and return the object. For a JSON patch, `content_type` is `application/json-patch+json`.

        The `body` of a JSON patch is a list.
        """
        return await self._write(_Request("PATCH", _path(kind, namespace, name), body, content_type))

    async def delete(self, kind: Kind, namespace: str, name: str, *, uid: str = "", resource_version: str = "") -> None:
        """Delete the object. Raises NotFoundError if it is gone, ConflictError if a precondition fails."""
        preconditions = {"uid": uid, "resourceVersion": resource_version}
        options: Object = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
        options["preconditions"] = {key: value for key, value in preconditions.items() if value}
        await self._write(_Request("DELETE", _path(kind, namespace, name), options))

    async def post(self, path: str, body: Object) -> Object:
        """Return the response to a POST that stores nothing, for instance a SubjectAccessReview."""
        return await self._send_json(_Request("POST", path, body))

    async def _write(self, request: _Request) -> Object:
        self.fence()
        return await self._send_json(request)

    async def _read(self, request: _Request) -> Object:
        """Send the request again as long as the API server throttles it and reports a short wait."""
        for _ in range(_READ_TRIES - 1):
            try:
                return await self._send_json(request)
            except ThrottledError as error:
                if error.after > _MAX_RETRY_AFTER_SECONDS:
                    raise
                await asyncio.sleep(error.after)
        return await self._send_json(request)

    async def _send_json(self, request: _Request) -> Object:
        return _decode(await self._send(request), request)

    async def _send(self, request: _Request) -> bytearray:
        async with self._response(request, self._timeout) as response:
            return await _body(response)

    @asynccontextmanager
    async def _response(
        self, request: _Request, limits: aiohttp.ClientTimeout
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Yield the response, whose body is not read. Raises the errors of the request, the response and its body."""
        if self._session is None or self._session.closed:
            raise RuntimeError("the client is not open")
        url = URL(self._connection.server + request.path, encoded=True)
        try:
            async with self._session.request(
                request.method,
                url,
                data=None if request.body is None else _encode(request.body),
                headers={**self._connection.headers(), "Content-Type": request.content_type, "Accept": request.accept},
                allow_redirects=False,
                server_hostname=self._connection.tls_server_name,
                timeout=limits,
            ) as response:
                if not response.ok or response.status >= 300:  # noqa: PLR2004 - a redirect is no answer either
                    body = await _body(response)
                    raise error_mapping.from_answer(response.status, response.headers, body, str(request))
                yield response
        except error_mapping.FOREIGN as error:
            raise error_mapping.from_network_error(error, str(request)) from error


def _no_fence() -> None:
    """Allow every write: the default fence."""


def _path(kind: Kind, namespace: str, name: str = "", subresource: str = "") -> str:
    root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    within = f"/namespaces/{quote(namespace, safe='')}" if namespace and kind.is_namespaced else ""
    below = "".join(f"/{quote(part, safe='')}" for part in (name, subresource) if part)
    return f"{root}{within}/{kind.plural}{below}"


def _list_request(kind: Kind, namespace: str, selection: Selection, token: str) -> _Request:
    parameters = {
        "limit": str(selection.limit),
        "continue": token,
        "fieldSelector": selection.fields,
        "labelSelector": selection.labels,
    }
    query = urlencode({name: value for name, value in parameters.items() if value})
    accept = _METADATA_LIST if selection.metadata_only else _JSON
    return _Request("GET", f"{_path(kind, namespace)}?{query}", accept=accept)


def _encode(body: object) -> bytes | io.BytesIO:
    # A message may quote a lone surrogate from a schema's \ud800, which UTF-8 cannot encode. What is applied is read as
    # YAML, which has no pairs of surrogates.
    text = json.dumps(body, separators=(",", ":"), ensure_ascii=False)
    encoded = _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", text).encode()
    return encoded if len(encoded) < _LARGE_BYTES else io.BytesIO(encoded)  # aiohttp sends it in chunks


def _decode(body: bytes | bytearray, request: _Request) -> Object:
    try:
        answer = json.loads(body)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise ApiUnavailableError(f"{request}: the answer is not an object; is this an API server?")
    return answer


async def _lines(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """Yield the whole lines of a body that does not end. aiohttp's own lines have a limit of 128 KiB."""
    rest = b""
    async for chunk in response.content.iter_any():
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line
        if len(rest) > _MAX_ANSWER_BYTES:
            raise aiohttp.ClientPayloadError("the answer is too large")


async def _body(response: aiohttp.ClientResponse) -> bytearray:
    whole = bytearray()
    async for chunk in response.content.iter_any():
        whole += chunk
        if len(whole) > _MAX_ANSWER_BYTES:
            raise aiohttp.ClientPayloadError("the answer is too large")
    return whole
