"""The controller process: waits for the lease, works while it leads, and shuts down in order."""

import asyncio
import contextlib
import logging
import sys
from dataclasses import replace

from topicschema import checkers, telemetry
from topicschema.checkers import UnusableCheckerError
from topicschema.cluster.client import ApiClient
from topicschema.cluster.connection import ApiConnection
from topicschema.cluster.lease import Elector, LeaseTimes
from topicschema.controller.session import LeaderSession
from topicschema.controller.watch import ShutdownSignal, Watch, watched_kinds
from topicschema.controller.watch_middleware import wait_until_served
from topicschema.core.errors import TopicSchemaError
from topicschema.settings import InvalidSettingError, Settings

_LOG = logging.getLogger(__name__)
_LEASE = "topicschema-controller"


async def run(settings: Settings, shutdown: ShutdownSignal) -> None:
    """Work whenever this replica holds the lease, until shutdown is requested. Raises errors that prevent any work."""
    connection = ApiConnection.load(settings.kubeconfig)
    times = LeaseTimes(settings.lease.duration, settings.lease.renew_deadline, settings.lease.retry_period)
    async with ApiClient(connection) as client:
        elector = Elector(client, settings.namespace, _LEASE, settings.identity, times)
        health = telemetry.ControllerHealth(
            settings.watch_timeout, lambda: elector.is_leading, len(watched_kinds(settings))
        )

        async def work() -> None:
            fenced = client.fenced(elector.assert_leading)
            watch = Watch(settings, connection, fenced, health, shutdown)
            session = LeaderSession(settings, fenced, health, watch)
            health.waiting = lambda: session.queue.waiting
            health.conditions = lambda: session.condition_counts
            await session.run()

        async def lead() -> None:
            await wait_until_served(client, watched_kinds(settings), health.last_activity.clear)
            health.is_served = True
            await elector.run(work)

        async with telemetry.serve(health, settings.probe_port):
            leading = asyncio.create_task(lead())
            stopping = asyncio.create_task(shutdown.requested.wait())
            await asyncio.wait({leading, stopping}, return_when=asyncio.FIRST_COMPLETED)
            leading.cancel()
            stopping.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await leading


async def _main(settings: Settings) -> int:
    shutdown = ShutdownSignal()
    shutdown.listen()
    try:
        await run(settings, shutdown)
    except Exception as error:  # noqa: BLE001 - the last place that can log it
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
