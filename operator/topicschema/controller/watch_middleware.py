"""Middleware for the requests of kopf's watches: metadata only, credentials, and callbacks for responses."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import aiohttp
from typing_extensions import override

from topicschema.api.kinds import Kind
from topicschema.cluster.client import ApiClient, Selection
from topicschema.cluster.connection import ApiConnection
from topicschema.core.errors import TopicSchemaError

_LOG = logging.getLogger(__name__)
_METADATA_ONLY = "application/json;as=PartialObjectMetadata{};g=meta.k8s.io;v=v1"
_OK = 200
_CLIENT_ERRORS = range(400, 500)
_RETRY_SECONDS = 1.0
_RETRYABLE = frozenset({401, 408, 429})


class Selected(NamedTuple):
    """The watched objects of a kind: those of one namespace or of all (""), and with one label or all ("")."""

    namespace: str = ""
    label: str = ""


class MetadataResponse(aiohttp.ClientResponse):
    """A response whose JSON has an array instead of `items: null`, which an empty list of metadata has.

    It is parsed once, for the middleware and for kopf.
    """

    _parsed: Any = None

    @override
    async def json(self, **how: Any) -> Any:
        """Return the parsed body."""
        if self._parsed is None:
            self._parsed = await super().json(**how)
            if isinstance(self._parsed, dict) and "items" in self._parsed:
                self._parsed["items"] = self._parsed["items"] or []
        return self._parsed


async def wait_until_served(
    client: ApiClient, kinds: Mapping[Kind, Selected], is_missing: Callable[[], object]
) -> None:
    """Wait until the API server lists each kind. Log kinds that are not installed or not allowed.

    `is_missing` is called after each failed attempt.
    """
    logged = ""
    while True:
        try:
            for kind, selected in kinds.items():
                async for _ in client.pages(kind, selected.namespace, Selection(limit=1, metadata_only=True)):
                    break
        except TopicSchemaError as error:
            is_missing()
            if error.message != logged:
                logged = error.message
                _LOG.error("nothing is watched: %s", logged)
            await asyncio.sleep(_RETRY_SECONDS)
        else:
            return


class WatchMiddleware:
    """A middleware for aiohttp's ClientSession, whose response class must be `MetadataResponse`.

    `kinds` has the watched objects of each kind. kopf watches all kinds in all namespaces, so the middleware changes
    the path of a kind that is watched in one namespace. It calls `on_response` with the
    plural of each kind whose list or watch began. It calls `on_list` with the plural and the metadata of a whole list,
    because kopf does not report deletions while no watch was open. `refused` is done once a list or watch got a
    response that a retry does not change: the kind is gone, access is denied, the version is too old. kopf then stops
    watching that kind, and logs nothing.
    """

    def __init__(
        self,
        connection: ApiConnection,
        *,
        kinds: Mapping[Kind, Selected],
        on_response: Callable[[str], None],
        on_list: Callable[[str, Iterable[Mapping[str, Any]]], None],
    ) -> None:
        self._connection = connection
        self._kinds = {_path(kind): kind for kind in kinds}
        self._selected = kinds
        self._on_response = on_response
        self._on_list = on_list
        self.refused: asyncio.Future[Kind] = asyncio.get_running_loop().create_future()

    async def __call__(
        self, request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        """Send the request and return the API server's response."""
        request.headers.update(self._connection.headers())
        kind = self._kinds.get(request.url.path)
        if kind is None:
            return await handler(request)
        is_watch = "watch" in request.url.query
        request.headers["Accept"] = _METADATA_ONLY.format("" if is_watch else "List")
        selected = self._selected[kind]
        if selected.namespace:
            request.url = request.url.with_path(_path(kind, selected.namespace), keep_query=True)
        if selected.label:
            request.url = request.url.update_query(labelSelector=selected.label)
        response = await handler(request)
        if _is_final(response.status) and not self.refused.done():
            self.refused.set_result(kind)
        if response.status == _OK:
            self._on_response(kind.plural)
            if not is_watch:
                items = (await response.json())["items"]
                self._on_list(kind.plural, [item["metadata"] for item in items])
        return response


def _is_final(status: int) -> bool:
    return status in _CLIENT_ERRORS and status not in _RETRYABLE


def _path(kind: Kind, namespace: str = "") -> str:
    root = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.version}"
    return f"{root}/namespaces/{namespace}/{kind.plural}" if namespace else f"{root}/{kind.plural}"
