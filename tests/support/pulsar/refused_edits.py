"""An edit that must be refused, tried again and again while a broker is broken: whether each was, and in which words.

By bare HTTP, for the product's own client repeats nothing of an answer that might quote a schema. Its patience is
longer than the API server's with a webhook, so that what the webhook does not answer is the API server's to tell.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp

from topicschema.api.kinds import TOPIC_SCHEMA
from topicschema.cluster.connection import Connection

_PATIENCE = aiohttp.ClientTimeout(total=30)
_APPLY = {"fieldManager": "kubectl", "force": "true"}


@dataclass(frozen=True, slots=True)
class Told:
    """The answer to one edit: its status, 0 without an answer."""

    status: int
    text: str


@dataclass(frozen=True, slots=True)
class Edits:
    """Applies TopicSchemas as a person does, and keeps what is said of it."""

    connection: Connection
    session: aiohttp.ClientSession

    async def attempt(self, wire: Mapping[str, Any]) -> Told:
        """What the API server says of the TopicSchema as it is to be."""
        kind, metadata = TOPIC_SCHEMA, wire["metadata"]
        path = f"/apis/{kind.group}/{kind.version}/namespaces/{metadata['namespace']}/{kind.plural}/{metadata['name']}"
        try:
            async with self.session.patch(
                self.connection.server + path,
                params=_APPLY,
                data=json.dumps(wire),
                headers={**self.connection.headers(), "Content-Type": "application/apply-patch+yaml"},
                server_hostname=self.connection.tls_server_name,
            ) as response:
                status, text = response.status, await response.text()
        except (aiohttp.ClientError, TimeoutError) as error:
            status, text = 0, repr(error)
        return Told(status, text)

    async def repeat(self, wire: Mapping[str, Any], moments: Iterable[float], kept: list[Told]) -> None:
        """Keep what is said at each of these moments of the monotonic clock."""
        for moment in moments:
            await asyncio.sleep(moment - time.monotonic())
            kept.append(await self.attempt(wire))


@asynccontextmanager
async def editing(connection: Connection) -> AsyncIterator[Edits]:
    """Who edits, by an admin's connection."""
    connector = aiohttp.TCPConnector(ssl=connection.ssl)
    async with aiohttp.ClientSession(connector=connector, timeout=_PATIENCE) as session:
        yield Edits(connection, session)
