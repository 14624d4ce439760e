"""Identities and rights of the registry's clients: cached, and limited in number while they are under review."""

import asyncio
import ssl
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

import pytest
from aiohttp import web
from kubernetes.client import Configuration

from support.http_server import serve
from topicschema.api.kinds import TOPIC_SCHEMA
from topicschema.cluster.client import ApiClient
from topicschema.cluster.connection import ApiConnection
from topicschema.cluster.errors import ApiUnavailableError
from topicschema.registry.access import Access
from topicschema.registry.answers import RestError


@dataclass
class Reviews:
    """An API server with these tokens. `requests` counts reviews; while `may_answer` is not set, none is answered."""

    requests: Counter[str] = field(default_factory=Counter)
    may_answer: asyncio.Event = field(default_factory=asyncio.Event)
    status: int = 201
    arrived: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def wait_for(self, count: int) -> None:
        """Return once that number of tokens was or is under review."""
        async with self.arrived:
            await self.arrived.wait_for(lambda: self.requests["TokenReview"] >= count)

    async def handle(self, request: web.Request) -> web.Response:
        body = await request.json()
        kind, spec = body["kind"], body["spec"]
        self.requests[kind] += 1
        async with self.arrived:
            self.arrived.notify_all()
        await self.may_answer.wait()
        if kind == "TokenReview":
            known = {"ada": {"username": "ada", "uid": "1", "groups": ["g"], "extra": {"e": ["x"]}}}.get(spec["token"])
            return web.json_response(
                {"status": {"authenticated": True, "user": known} if known else {}}, status=self.status
            )
        assert (spec["user"], spec["uid"], spec["groups"], spec["extra"]) == ("ada", "1", ["g"], {"e": ["x"]})
        is_allowed = spec["resourceAttributes"]["verb"] == "get"
        return web.json_response({"status": {"allowed": is_allowed}}, status=self.status)


@pytest.fixture
async def reviews() -> Reviews:
    reviews = Reviews()
    reviews.may_answer.set()
    return reviews


@dataclass
class Clock:
    time: float = 1000.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def access(reviews: Reviews, clock: Clock) -> AsyncIterator[Access]:
    async with serve(reviews.handle) as url:
        connection = ApiConnection(url, ssl.create_default_context(), None, Configuration())
        async with ApiClient(connection) as client:
            yield Access(client, 128, clock)


async def test_a_token_and_a_right_are_reviewed_once(access: Access, reviews: Reviews) -> None:
    users = await asyncio.gather(*(access.user("Bearer ada") for _ in range(5)))
    assert {user.name for user in users} == {"ada"}
    for _ in range(3):
        await access.require(users[0], "get", TOPIC_SCHEMA, "shop")
    with pytest.raises(RestError, match=r"ada may not patch topicschemas\.topicschema\.io in namespace shop"):
        await access.require(users[0], "patch", TOPIC_SCHEMA, "shop")
    assert reviews.requests == {"TokenReview": 1, "SubjectAccessReview": 2}


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Basic ada", "ada"])
async def test_without_a_token_nothing_is_reviewed(access: Access, reviews: Reviews, header: str) -> None:
    with pytest.raises(RestError) as refused:
        await access.user(header)
    assert (refused.value.status, refused.value.headers) == (401, {"WWW-Authenticate": "Bearer"})
    assert not reviews.requests


async def test_an_error_is_not_cached(access: Access, reviews: Reviews) -> None:
    reviews.status = 500
    with pytest.raises(ApiUnavailableError):
        await access.user("Bearer ada")
    reviews.status = 201
    assert (await access.user("Bearer ada")).name == "ada"


async def test_a_flood_of_unknown_tokens_is_refused_and_a_known_client_is_not(access: Access, reviews: Reviews) -> None:
    ada = await access.user("Bearer ada")
    reviews.may_answer.clear()
    flood = [asyncio.create_task(access.user(f"Bearer {number}")) for number in range(40)]
    await reviews.wait_for(33)
    assert await access.user("Bearer ada") is ada
    reviews.may_answer.set()
    statuses = Counter(
        each.status for each in await asyncio.gather(*flood, return_exceptions=True) if isinstance(each, RestError)
    )
    assert statuses == {401: 32, 503: 8}


async def test_a_client_has_a_limit_of_requests_in_progress(access: Access) -> None:
    user = await access.user("Bearer ada")
    with ExitStack() as requests:
        for _ in range(64):
            requests.enter_context(access.counted(user))
        with pytest.raises(RestError) as refused, access.counted(user):
            pass
    assert (refused.value.status, refused.value.headers) == (429, {"Retry-After": "1"})
    with access.counted(user):
        pass


async def test_a_user_has_a_limit_of_requests_in_a_second(access: Access, clock: Clock) -> None:
    user = await access.user("Bearer ada")
    another = replace(user, info={"username": "bob"}, digest="2")

    def sent(count: int) -> Counter[tuple[int, str]]:
        statuses = Counter[tuple[int, str]]()
        for _ in range(count):
            try:
                with access.counted(user):
                    statuses[200, ""] += 1
            except RestError as refused:
                statuses[refused.status, refused.headers["Retry-After"]] += 1
        return statuses

    assert sent(259) == {(200, ""): 256, (429, "1"): 3}
    with access.counted(another):
        clock.time += 0.5
    assert sent(70) == {(200, ""): 64, (429, "1"): 6}
    clock.time += 3600
    assert sent(257) == {(200, ""): 256, (429, "1"): 1}
