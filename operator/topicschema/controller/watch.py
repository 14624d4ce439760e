"""Watch with kopf: start, restart after a failure, and stop."""

import asyncio
import logging
import signal
from typing import Any

import aiohttp
import kopf

from topicschema import telemetry
from topicschema.api.kinds import JOB, NAMESPACE, NAMESPACE_SCHEMA_POLICY, POD, SCHEMA_REGISTRY, TOPIC_SCHEMA, Kind
from topicschema.cluster.client import ApiClient
from topicschema.cluster.connection import ApiConnection
from topicschema.controller.handlers import handlers
from topicschema.controller.watch_middleware import MetadataResponse, Selected, WatchMiddleware, wait_until_served
from topicschema.reconcile.runtime.event_router import EventRouter
from topicschema.settings import Settings
from topicschema.validation.job.manifest import DRIVERS, MANAGED

_LOG = logging.getLogger(__name__)
_IDENTITY: Any = "topicschema-controller"  # for kopf's peers, of which there are none; its default needs a user name
_RESTART_DELAY = 1.0
_CANCELLATIONS, _CANCELLATION_SECONDS = 3, 3.0


def watched_kinds(settings: Settings) -> dict[Kind, Selected]:
    """Return the watched kinds, each with the objects that are watched.

    Jobs and pods are watched only with validation, and only in its namespace, or the account would need access.
    """
    kinds = dict.fromkeys((TOPIC_SCHEMA, NAMESPACE_SCHEMA_POLICY, SCHEMA_REGISTRY, NAMESPACE), Selected())
    if not settings.validation.image:
        return kinds
    place = settings.validation.namespace
    return kinds | {JOB: Selected(place, MANAGED), POD: Selected(place, DRIVERS)}


class ShutdownSignal:
    """SIGTERM and SIGINT, which end the controller in order."""

    def __init__(self) -> None:
        self.requested = asyncio.Event()

    def listen(self) -> None:
        """Handle the signals, and replace any other handler."""
        for name in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(name, self.requested.set)


class Watch:
    """The watch of one leader session."""

    def __init__(
        self,
        settings: Settings,
        connection: ApiConnection,
        client: ApiClient,
        health: telemetry.ControllerHealth,
        shutdown: ShutdownSignal,
    ) -> None:
        self._settings = settings
        self._connection = connection
        self._client = client
        self._health = health
        self._shutdown = shutdown

    async def run(self, router: EventRouter) -> None:
        """Watch until cancelled. After a failure, or when a kind is refused, start again with new lists."""
        while True:
            await self._watch_once(router)
            await asyncio.sleep(_RESTART_DELAY)  # an API server that starts may not serve the CRDs for a moment
            await wait_until_served(self._client, watched_kinds(self._settings), self._health.last_activity.clear)

    async def _watch_once(self, router: EventRouter) -> None:
        kinds = watched_kinds(self._settings)
        middleware = WatchMiddleware(
            self._connection, kinds=kinds, on_response=self._on_response, on_list=router.on_list
        )

        def session() -> kopf.AiohttpSession:  # a new one each time, because kopf closes them after use
            client = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(ssl=self._connection.ssl),
                middlewares=(middleware,),
                response_class=MetadataResponse,
            )
            return kopf.AiohttpSession(aiohttp_session=client, server=self._connection.server)

        registry = handlers(kinds, router, session, self._settings.watch_timeout)
        operator = asyncio.create_task(
            kopf.operator(registry=registry, standalone=True, clusterwide=True, identity=_IDENTITY)
        )
        try:
            ends: set[asyncio.Future[Any]] = {operator, middleware.refused}
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await _cancel(operator)
            self._shutdown.listen()
        failure = None if operator.cancelled() or not operator.done() else operator.exception()
        if failure is None and not middleware.refused.done():
            # kopf handles the process's signals itself, and ends like this only after one.
            self._shutdown.requested.set()
            await asyncio.Event().wait()
        level = logging.ERROR if failure else logging.WARNING
        _LOG.log(level, "watch failed; restarting in %g s", _RESTART_DELAY, exc_info=failure)
        if failure is not None:
            telemetry.INTERNAL_ERRORS.labels("watch").inc()

    def _on_response(self, plural: str) -> None:
        # kopf has replaced the signal handlers by now. If it stops by itself, it may wait for ever for a watch that
        # swallowed its cancellation. `_cancel` repeats the cancellation.
        self._shutdown.listen()
        self._health.record_activity(plural)


async def _cancel(operator: asyncio.Task[None]) -> None:
    # kopf sometimes swallows a cancellation if a watch fails while it stops. It never swallowed the next one.
    for _ in range(_CANCELLATIONS):
        operator.cancel()
        await asyncio.wait({operator}, timeout=_CANCELLATION_SECONDS)
        if operator.done():
            return
    _LOG.error("watch did not stop in time; continuing without it")
