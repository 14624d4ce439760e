"""The stream of changed histories over lists and watches with the responses of a test.

What a real API server sends is in the contract, in the cluster tier.
"""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web
from kubernetes.client import Configuration

from support.http_server import serve
from topicschema.api import store
from topicschema.cluster.client import ApiClient
from topicschema.cluster.connection import ApiConnection
from topicschema.core.history import History
from topicschema.core.topics import Topic, TopicKey
from topicschema.storage.kubernetes.changes import Changes

ONE, TWO, LAST = (TopicKey("pulsar", Topic("shop", "orders", name)) for name in ("one", "two", "last"))
GONE = {"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}}


def history(key: TopicKey, revision: str) -> dict[str, Any]:
    return store.history_to_wire(History(key), namespace="system", resource_version=revision)


def event(key: TopicKey, revision: str, kind: str = "MODIFIED") -> dict[str, Any]:
    return {"type": kind, "object": history(key, revision)}


class Server:
    """An API server. Each list has the next of `lists`, each watch the next of `watches` and then ends."""

    def __init__(self) -> None:
        self.lists: list[list[dict[str, Any]]] = []
        self.watches: list[list[dict[str, Any]]] = []
        self.objects: dict[str, dict[str, Any]] = {}
        self.since: list[str] = []
        self.is_watched = asyncio.Event()

    async def respond(self, request: web.Request) -> web.StreamResponse:
        name = request.path.rpartition("/")[2]
        if name.startswith("h-"):
            return web.json_response(self.objects[name])
        if "watch" not in request.query:
            items = self.lists.pop(0)
            return web.json_response({"metadata": {"resourceVersion": "100"}, "items": items})
        self.since.append(request.query["resourceVersion"])
        self.is_watched.set()
        if not self.watches:
            await asyncio.Event().wait()
        lines = "".join(f"{json.dumps(each)}\n" for each in self.watches.pop(0))
        return web.Response(text=lines)


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[Server, Changes]]:
    monkeypatch.setattr("topicschema.cluster.changes._RETRY_SECONDS", 0.0)
    fake = Server()
    async with (
        serve(fake.respond) as url,
        ApiClient(ApiConnection(url, ssl.create_default_context(), None, Configuration())) as client,
    ):
        yield fake, Changes(client, "system")


async def until_last(stream: AsyncIterator[TopicKey]) -> list[TopicKey]:
    """Return what the stream yields before LAST."""
    keys = []
    async for key in stream:
        if key == LAST:
            break
        keys.append(key)
    return keys


async def test_it_begins_with_all_histories_and_continues_a_watch_that_ended(server: tuple[Server, Changes]) -> None:
    fake, stream = server
    fake.lists = [[history(ONE, "1"), history(TWO, "2")]]
    bookmark = {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "103"}}}
    fake.watches = [[event(ONE, "101"), event(TWO, "102", "DELETED"), bookmark], [event(LAST, "104", "ADDED")]]
    assert await until_last(stream.stream()) == [ONE, TWO, ONE, TWO]
    assert fake.since == ["100", "103"]


async def test_after_a_failure_it_yields_what_changed_meanwhile(server: tuple[Server, Changes]) -> None:
    fake, stream = server
    three = TopicKey("pulsar", Topic("shop", "orders", "three"))
    fake.lists = [
        [history(ONE, "1"), history(TWO, "2"), history(three, "3")],
        [history(ONE, "1"), history(TWO, "9"), history(LAST, "10")],
    ]
    fake.watches = [[GONE]]
    keys = await until_last(stream.stream())
    assert keys[:3] == [ONE, TWO, three]
    assert set(keys[3:]) <= {TWO, three}
    assert TWO in keys[3:]


async def test_an_own_write_is_not_yielded_even_if_its_event_comes_before_its_answer(
    server: tuple[Server, Changes],
) -> None:
    fake, stream = server
    fake.lists = [[]]
    fake.watches = [[event(ONE, "101", "ADDED"), event(TWO, "102", "ADDED"), event(ONE, "103"), event(LAST, "104")]]
    with stream.writing(store.history_name(ONE)):
        reading = asyncio.create_task(until_last(stream.stream()))
        await fake.is_watched.wait()
        stream.record("101")
    assert await reading == [TWO, ONE]


async def test_a_history_without_its_annotation_is_read(server: tuple[Server, Changes]) -> None:
    fake, stream = server
    bare = history(ONE, "1")
    bare["metadata"]["annotations"] = {store.TOPIC_ANNOTATION: "pulsar/shop/orders/two"}  # of another topic
    assert store.topic_of(bare["metadata"]) is None
    assert store.topic_of(history(ONE, "1")["metadata"]) == ONE
    damaged = history(TWO, "2")
    damaged["metadata"]["annotations"] = None
    fake.objects = {store.history_name(ONE): bare, store.history_name(TWO): {**damaged, "spec": {}}}
    fake.lists = [[bare, damaged]]
    fake.watches = [[event(LAST, "3")]]
    assert await until_last(stream.stream()) == [ONE]
