"""The controller process. kopf watches and enqueues keys; `reconcile` reconciles them.

This is the only module that uses kopf, and only for its watches. The controller works only while it leads, and checks
the lease before each write.
"""

import asyncio
import contextlib
import logging
import signal
import sys
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import aiohttp
import kopf

from topicschema import checkers, telemetry
from topicschema.api.kinds import JOB, NAMESPACE, NAMESPACE_SCHEMA_POLICY, POD, SCHEMA_HISTORY, TOPIC_SCHEMA, Kind
from topicschema.broker.host_allow_list import AllowedHosts
from topicschema.checkers import UnusableCheckerError
from topicschema.cluster.client import ApiClient
from topicschema.cluster.connection import Connection
from topicschema.cluster.events import EventRecorder
from topicschema.cluster.lease import Elector, LeaseTimes
from topicschema.controller.watch_middleware import Answer, Scope, Watching, served
from topicschema.core.errors import TopicSchemaError
from topicschema.judging.judge import Judge
from topicschema.judging.policies import Policies
from topicschema.reconcile.brokers import Brokers
from topicschema.reconcile.context import ReconcileContext
from topicschema.reconcile.policy.reconciler import NamespaceSchemaPolicies
from topicschema.reconcile.runtime.event_router import EventRouter
from topicschema.reconcile.runtime.object_index import ObjectIndex
from topicschema.reconcile.runtime.own_writes import OwnWrites
from topicschema.reconcile.runtime.schedule import BrokerPartitions
from topicschema.reconcile.runtime.work_queue import Key, Result, WorkQueue
from topicschema.reconcile.topicschema.reconciler import TopicSchemas
from topicschema.reconcile.validation.job_limiter import JobLimiter, Limits, Validations
from topicschema.settings import Claims as ClaimsSetting
from topicschema.settings import InvalidSettingError, Settings
from topicschema.storage.claims import Claims
from topicschema.storage.garbage_collection import GarbageCollector
from topicschema.storage.record import RecordStorage
from topicschema.validation.job.manifest import DRIVERS, TOPIC_LABEL

_LOG = logging.getLogger(__name__)
_LEASE = "topicschema-controller"
_IDENTITY: Any = _LEASE  # kopf reports it to its peers, of which there are none. Its default queries the user's name.
_COLLECTION_SECONDS = 3600.0
_FIRST_COLLECTION_SECONDS = 60.0  # early, because a process that is often replaced would otherwise never collect
_RESTART_DELAY = 1.0
_CANCELLATIONS, _CANCELLATION_SECONDS = 3, 3.0


def _watched(settings: Settings) -> dict[Kind, Scope]:
    """Return the watched kinds. Without validation RBAC need not allow Jobs and pods, so they are not watched."""
    kinds = dict.fromkeys((TOPIC_SCHEMA, NAMESPACE_SCHEMA_POLICY, NAMESPACE), Scope())
    runs = {JOB: Scope(labels=TOPIC_LABEL), POD: Scope(labels=DRIVERS)} if settings.validation.image else {}
    return kinds | {SCHEMA_HISTORY: Scope(namespace=settings.namespace)} | runs


class Stop:
    """Handler of SIGTERM and SIGINT, which stop the controller in order."""

    def __init__(self) -> None:
        self.requested = asyncio.Event()

    def listen(self) -> None:
        """Handle the signals, and replace any other handler."""
        for name in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(name, self.requested.set)


class Term:
    """One term of leadership. All state of the controller begins and ends with it."""

    def __init__(
        self, settings: Settings, connection: Connection, client: ApiClient, health: telemetry.Health, stop: Stop
    ) -> None:
        self._settings = settings
        self._stop = stop
        self._connection = connection
        self._client = client
        self._health = health
        self._index = ObjectIndex()
        self._own_writes = OwnWrites()
        validation, hosts = settings.validation, AllowedHosts.parse(settings.broker_hosts, (connection.server,))
        self._brokers = Brokers(client, hosts, client.fence, per_second=settings.broker_requests)
        partitions = BrokerPartitions(self._index.peers, self._brokers.is_away)
        self.queue = WorkQueue(self._reconcile, settings.resync_period, partitions=partitions)
        storage, claims = RecordStorage(client, settings.namespace), Claims(client, settings.namespace)
        self._judge = Judge(storage, checkers=settings.checkers)
        ctx = ReconcileContext(
            client=client,
            storage=storage,
            claims=claims,
            policies=Policies(client, claims),
            judge=self._judge,
            events=EventRecorder(client, settings.identity),
            brokers=self._brokers,
            index=self._index,
            own_writes=self._own_writes,
            enqueue=self.queue.add,
            namespace=settings.namespace,
            claims_are_open=settings.claims is ClaimsSetting.OPEN,
            validation=Validations(
                validation.image, JobLimiter(Limits(validation.jobs, validation.jobs_per_namespace)), hosts
            ),
        )
        self._topics = TopicSchemas(ctx)
        self._policies = NamespaceSchemaPolicies(ctx, settings.resync_period)

    async def run(self) -> None:
        """Work until cancelled, or until kopf cannot watch any more. Raises the error that stopped it."""
        self._health.last_activity.clear()
        router = EventRouter(self._index, self._own_writes, self.queue.add)
        with contextlib.closing(self._judge):
            async with contextlib.aclosing(self._brokers), asyncio.TaskGroup() as group:
                group.create_task(self.queue.run(self._settings.workers))
                group.create_task(self._collect_garbage())
                group.create_task(self._listen(router))

    async def _reconcile(self, key: Key) -> Result:
        kind = self._topics if key.plural == TOPIC_SCHEMA.plural else self._policies
        return await kind.reconcile(key)

    async def _collect_garbage(self) -> None:
        collector = GarbageCollector(self._client, self._settings.namespace)
        await asyncio.sleep(_FIRST_COLLECTION_SECONDS)
        while True:
            try:
                removed = await collector.collect(datetime.now(UTC))
            except TopicSchemaError as error:
                _LOG.warning("garbage collection failed", extra={"fields": {"reason": error.reason}})
            else:
                _LOG.info("removed unreferenced payloads", extra={"fields": {"payloads": removed}})
            await asyncio.sleep(_COLLECTION_SECONDS)

    async def _listen(self, router: EventRouter) -> None:
        while True:
            await self._listen_once(router)
            await asyncio.sleep(_RESTART_DELAY)  # an API server that starts may not serve the CRDs for a moment
            await served(self._client, _watched(self._settings), self._health.last_activity.clear)

    async def _listen_once(self, router: EventRouter) -> None:
        """Watch with kopf until it gives up or a kind is refused. The next run lists all objects again."""
        watching = Watching(
            self._connection,
            kinds=_watched(self._settings),
            answered=self._record_response,
            listed=router.on_list,
        )
        operator = asyncio.create_task(
            kopf.operator(
                registry=_registry(_watched(self._settings), router, _Login(self._connection, watching)),
                settings=_kopf_settings(self._settings.watch_timeout),
                standalone=True,
                clusterwide=True,
                identity=_IDENTITY,
            )
        )
        try:
            ends: set[asyncio.Future[Any]] = {operator, watching.refused}
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await _ended(operator)
            self._stop.listen()
        failure = None if operator.cancelled() or not operator.done() else operator.exception()
        if failure is None and not watching.refused.done():
            # kopf handles the process's signals itself, and ends like this only after one.
            self._stop.requested.set()
            await asyncio.Event().wait()
        level = logging.ERROR if failure else logging.WARNING
        _LOG.log(level, "watch failed; restarting in %g s", _RESTART_DELAY, exc_info=failure)
        if failure is not None:
            telemetry.INTERNAL_ERRORS.labels("watch").inc()

    def _record_response(self, plural: str) -> None:
        # kopf has replaced the signal handlers by now. If it stops by itself, it may wait for ever for a watch that
        # swallowed its cancellation. If `Stop` stops it, it is cancelled again.
        self._stop.listen()
        self._health.record_activity(plural)


async def _ended(operator: asyncio.Task[None]) -> None:
    # kopf sometimes swallows a cancellation if a watch fails while it stops. It never swallowed the next one.
    for _ in range(_CANCELLATIONS):
        operator.cancel()
        await asyncio.wait({operator}, timeout=_CANCELLATION_SECONDS)
        if operator.done():
            return
    _LOG.error("watch did not stop in time; continuing without it")


class _Login:
    """Provider of a session for each login of kopf, which closes the sessions that it no longer uses."""

    def __init__(self, connection: Connection, watching: Watching) -> None:
        self._connection = connection
        self._watching = watching

    def session(self) -> kopf.AiohttpSession:
        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=self._connection.ssl),
            middlewares=(self._watching,),
            response_class=Answer,
        )
        return kopf.AiohttpSession(aiohttp_session=session, server=self._connection.server)


def _registry(kinds: Iterable[Kind], router: EventRouter, login: _Login) -> kopf.OperatorRegistry:
    registry = kopf.OperatorRegistry()

    @kopf.on.login(registry=registry)
    async def session(**_: Any) -> kopf.AiohttpSession:
        return login.session()

    for kind in kinds:

        @kopf.on.event(kind.group, kind.version, kind.plural, registry=registry, id=kind.plural)
        async def on_event(type: str | None, body: kopf.Body, plural: str = kind.plural, **_: Any) -> None:  # noqa: A002 - kopf's word
            router.on_event(plural, body["metadata"], is_deleted=type == "DELETED", is_listed=type is None)

    return registry


def _kopf_settings(watch_timeout: float) -> kopf.OperatorSettings:
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False
    settings.scanning.disabled = True
    settings.watching.inactivity_timeout = 70.0  # bookmarks come every minute: less would reconnect all the time
    settings.watching.connect_timeout = 5.0
    settings.watching.server_timeout = max(1, int(watch_timeout / 3))  # so that a quiet watch counts as alive
    settings.networking.request_timeout = 30.0
    settings.networking.connect_timeout = 5.0
    logging.getLogger("kopf").setLevel(logging.WARNING)
    return settings


async def run(settings: Settings, stop: Stop) -> None:
    """Run the controller while holding the lease, until `stop` is requested.

    Raises errors that make running impossible.
    """
    connection = Connection.load(settings.kubeconfig)
    times = LeaseTimes(settings.lease.duration, settings.lease.renew_deadline, settings.lease.retry_period)
    async with ApiClient(connection) as client:
        elector = Elector(client, settings.namespace, _LEASE, settings.identity, times)
        health = telemetry.Health(settings.watch_timeout, lambda: elector.is_leading, len(_watched(settings)))

        async def work() -> None:
            term = Term(settings, connection, client.fenced(elector.assert_leading), health, stop)
            health.waiting = lambda: term.queue.waiting
            await term.run()

        async def lead() -> None:
            await served(client, _watched(settings), health.last_activity.clear)
            health.is_served = True
            await elector.run(work)

        async with telemetry.serve(health, settings.probe_port):
            leading = asyncio.create_task(lead())
            stopping = asyncio.create_task(stop.requested.wait())
            await asyncio.wait({leading, stopping}, return_when=asyncio.FIRST_COMPLETED)
            leading.cancel()
            stopping.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await leading


async def _main(settings: Settings) -> int:
    stop = Stop()
    stop.listen()
    try:
        await run(settings, stop)
    except Exception as error:  # noqa: BLE001 - the last place that can report it
        for cause in _leaves(error):
            message = (
                cause.message
                if isinstance(cause, TopicSchemaError)
                else f"{type(cause).__name__}: the log has the place"
            )
            _LOG.critical("the controller stops: %s", message, exc_info=cause)
        return 1
    return 0


def _leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for inner in error.exceptions for leaf in _leaves(inner)]
    return [error]


def main() -> int:
    """Run the controller until SIGTERM and return the exit code."""
    try:
        settings = replace(Settings.load(), checkers=checkers.load())
    except (InvalidSettingError, UnusableCheckerError) as error:
        sys.stderr.write(f"topicschema controller: {error}\n")
        return 2
    telemetry.log_to_stderr(settings.log_level)
    return asyncio.run(_main(settings))
