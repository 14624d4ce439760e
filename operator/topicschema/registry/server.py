"""The registry process: the API over TLS, with probes and metrics."""

import asyncio
import logging
import sys
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from topicschema import checkers, telemetry
from topicschema.checkers import UnusableCheckerError
from topicschema.cluster.client import ApiClient
from topicschema.cluster.connection import ApiConnection
from topicschema.core.errors import StalledError
from topicschema.https import connection_logs, serving
from topicschema.https.certificate import Certificate
from topicschema.https.serving import HeaderLimits
from topicschema.judging.judge import Judge
from topicschema.registry.access import Access
from topicschema.registry.governing import Governance
from topicschema.registry.reads import Reads
from topicschema.registry.resources import TopicWatch
from topicschema.registry.routes import Api
from topicschema.registry.writes import Writes
from topicschema.settings import InvalidSettingError, ServerSettings
from topicschema.telemetry import log_to_stderr

_LOG = logging.getLogger(__name__)

_PAYLOAD_CACHE_BYTES: Final = 64 * 1024 * 1024
# Endpoints are updated after a delay, and clients use their connections until an answer closes them.
_DRAIN: Final = 3.0
# Local names of topics have up to 512 characters, which are percent-encoded twice. Tokens of an identity provider list
# groups.
_LIMITS: Final = HeaderLimits(line_bytes=32 * 1024, headers=64, header_bytes=16 * 1024)


@dataclass(slots=True)
class RegistryHealth:
    """State for the probes: ready from the first request until a signal stops the process."""

    is_ready: bool = False
    is_alive: bool = True

    def collect(self) -> None:
        """Set no gauge."""


async def serve(
    settings: ServerSettings, connection: ApiConnection, stop: asyncio.Event, drain: float = _DRAIN
) -> None:
    """Serve until `stop` is set, and `drain` seconds more as not ready. Then finish the open requests."""
    certificate, health = Certificate(settings.certificate, settings.key, settings.client_ca), RegistryHealth()
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(ApiClient(connection))
        await stack.enter_async_context(telemetry.serve(health, settings.probe_port))
        storage = settings.storage(client, settings.namespace, cache_bytes=_PAYLOAD_CACHE_BYTES)
        stack.push_async_callback(storage.aclose)
        judge = Judge(storage, checkers=settings.checkers)
        stack.callback(judge.close)
        reads, watch = Reads(storage, judge), TopicWatch(client)
        for task in (asyncio.create_task(reads.histories.follow()), asyncio.create_task(watch.follow())):
            stack.callback(task.cancel)
        access, governance = Access(client, settings.registry_requests), Governance(client, storage)
        writes = Writes(client, storage, judge, reads.histories, watch)
        api = Api(client, access, governance, reads, writes, stop=stop)
        runner = serving.runner(api.application(), _LIMITS)
        async with serving.served(runner, certificate, api.bodies, settings.port):
            health.is_ready = True
            _LOG.info("serving Pulsar's API of schemas on port %d", settings.port)
            await stop.wait()
            health.is_ready = False
            await asyncio.sleep(drain)


def main() -> int:
    """Run the registry until SIGTERM. Return 2 if the settings or the certificate cannot be used."""
    try:
        settings = replace(ServerSettings.load(process="REGISTRY"), checkers=checkers.load())
        log_to_stderr(settings.log_level)
        with connection_logs.limited():
            asyncio.run(serving.until_signal(partial(serve, settings, ApiConnection.load(settings.kubeconfig))))
    except (InvalidSettingError, UnusableCheckerError, StalledError, OSError) as error:  # ssl.SSLError is an OSError
        sys.stderr.write(f"topicschema registry: {error}\n")
        return 2
    return 0
