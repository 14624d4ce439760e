"""ApiClient: Kubernetes objects as plain dicts, over one aiohttp session. Every call ends within the timeout.

On the hot path of every admission and every reconcile, so there are no models and no copies: an object comes as
`json.loads` makes it. Reads are consistent (no resourceVersion is sent): what was acknowledged before is seen.
"""

import asyncio
import copy
import io
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote, urlencode

import aiohttp
from yarl import URL

from topicschema.api.kinds import POD, Kind
from topicschema.cluster import error_mapping
from topicschema.cluster.connection import Connection
from topicschema.cluster.errors import ApiUnavailableError, ThrottledError

Object = dict[str, Any]
Objects = list[Object]

_JSON = "application/json"
_APPLY = "application/apply-patch+yaml"
_MERGE_PATCH = "application/merge-patch+json"
_METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_TIMEOUT_SECONDS = 10.0
_CONNECT_SECONDS = 5.0
_MAX_ANSWER_BYTES = 64 << 20
_LARGE_BYTES = 1 << 20
_READ_TRIES = 3
_PATIENCE_SECONDS = 2.0  # a longer Retry-After is the caller's to wait for


@dataclass(frozen=True, slots=True)
class Selection:
    """Which objects of a kind to list, and how: `limit` is the size of a page, not of the answer."""

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
    """Talks to one API server; an async context manager. Errors are those of `cluster.errors`, by `foreign`'s table."""

    def __init__(self, connection: Connection, timeout_seconds: float = _TIMEOUT_SECONDS) -> None:
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
        """This open client, its connections shared, with `fence` called before each write: what it raises stops it."""
        twin = copy.copy(self)
        twin.fence = fence
        return twin

    async def get(self, kind: Kind, namespace: str, name: str) -> Object:
        """The object; NotFoundError only when the API server says that this object does not exist."""
        return await self._read(_Request("GET", _path(kind, namespace, name)))

    async def list(
        self, kind: Kind, namespace: str = "", *, field_selector: str = "", label_selector: str = "", limit: int = 500
    ) -> Objects:
        """All objects that match, read in pages of `limit`; an empty namespace means all namespaces."""
        selection = Selection(field_selector, label_selector, limit)
        return [item async for page in self.pages(kind, namespace, selection) for item in page]

    async def pages(self, kind: Kind, namespace: str, selection: Selection) -> AsyncIterator[Objects]:
        """The objects that match, one page in memory at a time, all as of one moment."""
        token = ""
        while True:
            answer = await self._read(_list_request(kind, namespace, selection, token))
            yield answer.get("items") or []
            token = (answer.get("metadata") or {}).get("continue") or ""
            if not token:
                return

    async def log(self, namespace: str, pod: str, container: str, *, lines: int, limit: int) -> str:
        """The last `lines` of what a container wrote, `limit` bytes of them at most; NotFoundError.

        What is no UTF-8 is replaced. A pod that no node has begun yet has written nothing.
        """
        wanted = urlencode({"container": container, "tailLines": lines, "limitBytes": limit})
        path = f"{_path(POD, namespace, pod, 'log')}?{wanted}"
        return bytes(await self._send(_Request("GET", path, accept="*/*"))).decode(errors="replace")

    async def create(self, kind: Kind, namespace: str, body: Object) -> Object:
        """The object as created; ConflictError when one of that name exists."""
        return await self._write(_Request("POST", _path(kind, namespace), body))

    async def replace(self, kind: Kind, namespace: str, name: str, body: Object, *, subresource: str = "") -> Object:
        """The object as replaced; ConflictError when the body's resourceVersion is not the newest."""
        return await self._write(_Request("PUT", _path(kind, namespace, name, subresource), body))

    async def apply(  # noqa: PLR0913 - an object's address is three of them
        self, kind: Kind, namespace: str, name: str, body: Object, *, field_manager: str, subresource: str = ""
    ) -> Object:
        """The object after a forced server-side apply; a resourceVersion in the body is a precondition (ConflictError).

        Creates the object when it is missing, except with a subresource (NotFoundError).
        """
        query = urlencode({"fieldManager": field_manager, "force": "true"})
        path = _path(kind, namespace, name, subresource)
        return await self._write(_Request("PATCH", f"{path}?{query}", body, _APPLY))

    async def patch(
        self, kind: Kind, namespace: str, name: str, body: object, *, content_type: str = _MERGE_PATCH
    ) -> Object:
        """The object after a merge patch, or a JSON patch (`application/json-patch+json`, `body` a list)."""
        return await self._write(_Request("PATCH", _path(kind, namespace, name), body, content_type))

    async def delete(self, kind: Kind, namespace: str, name: str, *, uid: str = "", resource_version: str = "") -> None:
        """Delete the object; NotFoundError when it is gone, ConflictError when it is not the one that was named."""
        wanted = {"uid": uid, "resourceVersion": resource_version}
        options: Object = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
        options["preconditions"] = {key: value for key, value in wanted.items() if value}
        await self._write(_Request("DELETE", _path(kind, namespace, name), options))

    async def post(self, path: str, body: Object) -> Object:
        """The answer to a question that is asked by POST and stored nowhere, for instance a SubjectAccessReview."""
        return await self._ask(_Request("POST", path, body))

    async def _write(self, request: _Request) -> Object:
        self.fence()
        return await self._ask(request)

    async def _read(self, request: _Request) -> Object:
        """The answer, asked again while the API server only wants a little patience."""
        for _ in range(_READ_TRIES - 1):
            try:
                return await self._ask(request)
            except ThrottledError as error:
                if error.after > _PATIENCE_SECONDS:
                    raise
                await asyncio.sleep(error.after)
        return await self._ask(request)

    async def _ask(self, request: _Request) -> Object:
        return _decode(await self._send(request), request)

    async def _send(self, request: _Request) -> bytearray:
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
            ) as response:
                body = await _body(response)
        except error_mapping.FOREIGN as error:
            raise error_mapping.from_silence(error, str(request)) from error
        if not response.ok or response.status >= 300:  # noqa: PLR2004 - a redirect is no answer either
            raise error_mapping.from_answer(response.status, response.headers, body, str(request))
        return body


def _no_fence() -> None:
    """A client of nobody in particular may always write."""


def _path(kind: Kind, namespace: str, name: str = "", subresource: str = "") -> str:
    root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    within = f"/namespaces/{quote(namespace, safe='')}" if namespace and kind.is_namespaced else ""
    below = "".join(f"/{quote(part, safe='')}" for part in (name, subresource) if part)
    return f"{root}{within}/{kind.plural}{below}"


def _list_request(kind: Kind, namespace: str, selection: Selection, token: str) -> _Request:
    wanted = {
        "limit": str(selection.limit),
        "continue": token,
        "fieldSelector": selection.fields,
        "labelSelector": selection.labels,
    }
    query = urlencode({name: value for name, value in wanted.items() if value})
    accept = _METADATA_LIST if selection.metadata_only else _JSON
    return _Request("GET", f"{_path(kind, namespace)}?{query}", accept=accept)


def _encode(body: object) -> bytes | io.BytesIO:
    # Escaped to ASCII: a lone surrogate, which a schema's \ud800 may have put into a message, has no UTF-8.
    encoded = json.dumps(body, separators=(",", ":")).encode("ascii")
    return encoded if len(encoded) < _LARGE_BYTES else io.BytesIO(encoded)  # which aiohttp sends piece by piece


def _decode(body: bytes | bytearray, request: _Request) -> Object:
    try:
        answer = json.loads(body)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise ApiUnavailableError(f"{request}: the answer is not an object; is this an API server?")
    return answer


async def _body(response: aiohttp.ClientResponse) -> bytearray:
    whole = bytearray()
    async for chunk in response.content.iter_any():
        whole += chunk
        if len(whole) > _MAX_ANSWER_BYTES:
            raise aiohttp.ClientPayloadError("the answer is too large")
    return whole
