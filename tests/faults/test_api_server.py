"""The controller with an API server that is away, silent, busy or refuses.

Its set-up starts a control plane and a controller behind a proxy; a lease has to expire in some tests.
"""

import asyncio
import json
from collections.abc import Callable

import pytest
from aiohttp import web

from faults.calls import is_write
from faults.conftest import Rig, leads
from faults.world import World, avro, until
from testbed.calls import Call, Exchange, Fault

pytestmark = [pytest.mark.cluster, pytest.mark.faults]


def check_two_versions(world: World) -> None:
    """Check that the second version is registered, once."""
    until(lambda: world.condition("Ready") == ("True", "Registered"), "Ready")
    assert world.recorded_texts() == [avro(), avro("note")]


def answering(answer: Callable[[], web.Response], times: int, hit: Callable[[Call], bool]) -> Fault:
    """Return a fault that answers the first `times` calls that `hit` selects itself, without passing them on."""
    left = times

    async def fault(exchange: Exchange) -> web.StreamResponse:
        nonlocal left
        if not left or not hit(exchange.call):
            return await exchange.forward()
        left -= 1
        return answer()

    return fault


def refusing(status: int, times: int, hit: Callable[[Call], bool], headers: dict[str, str] | None = None) -> Fault:
    """Return a fault that refuses the first `times` calls that `hit` selects with `status`."""
    reason = {409: "Conflict", 410: "Expired", 429: "TooManyRequests"}.get(status, "InternalError")
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": status, "reason": reason}
    text = json.dumps({**body, "message": "refused by the test"})
    return answering(
        lambda: web.Response(status=status, text=text, content_type="application/json", headers=headers), times, hit
    )


def expired() -> web.Response:
    """Return the answer to a watch that ends as expired, as the API server does."""
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Expired", "code": 410}
    event = {"type": "ERROR", "object": {**status, "message": "too old resource version"}}
    return web.Response(text=json.dumps(event) + "\n", content_type="application/json")


@pytest.mark.parametrize(
    ("status", "what"),
    [
        (409, "schemahistories"),
        (409, "topicschemas"),
        (429, "schemaversions"),
        (429, "topicschemas"),
        (500, "schemahistories"),
        (503, "schemaversions"),
    ],
)
def test_a_write_that_is_refused_once_is_made_in_the_end_and_only_once(
    rig: Rig, world: World, status: int, what: str
) -> None:
    def is_refused(call: Call) -> bool:
        return is_write(call) and what in call.path and world.is_concerned(call.path, call.body)

    headers = {"Retry-After": "1"} if status == 429 else None
    rig.proxy.fault = refusing(status, 1, is_refused, headers)
    world.apply(avro("note"))
    check_two_versions(world)
    assert len(list(filter(is_refused, rig.proxy.calls))) >= 2, "the refused write never came"


def test_an_expired_watch_is_listed_again_and_a_deletion_meanwhile_is_noticed(rig: Rig, world: World) -> None:
    rig.proxy.fault = refusing(503, 3, lambda call: call.is_watch)
    until(lambda: rig.proxy.cut_watches() > 0, "watches to cut")
    world.delete_topic_schema()
    until(lambda: world.read() is None, "the resource to go")
    rig.proxy.fault = answering(expired, 2, lambda call: call.is_watch and "topicschemas" in call.path)
    world.apply(avro("note"))
    check_two_versions(world)


@pytest.mark.parametrize(("status", "times"), [(403, 1), (404, 1), (410, 1), (503, 4)])
def test_a_watch_that_is_cut_and_refused_begins_again(rig: Rig, world: World, status: int, times: int) -> None:
    rig.proxy.fault = refusing(status, times, lambda call: call.is_watch and "topicschemas" in call.path)
    until(lambda: rig.proxy.cut_watches() > 0, "watches to cut")
    world.apply(avro("note"))
    check_two_versions(world)
    assert rig.product.controller.exit_status is None


@pytest.mark.full  # a watch may be silent for a minute
@pytest.mark.timeout(600)
def test_a_silent_watch_ends_and_the_edit_is_registered(rig: Rig, world: World) -> None:
    silence = asyncio.Event()

    async def silent(exchange: Exchange) -> web.StreamResponse:
        if exchange.call.is_watch and not silence.is_set():
            try:
                await asyncio.wait_for(silence.wait(), 60)
            except TimeoutError:
                silence.set()
        return await exchange.forward()

    rig.proxy.fault = silent
    until(lambda: rig.proxy.cut_watches() > 0, "watches to cut")
    until(lambda: any(call.is_watch for call in rig.proxy.calls), "a watch that falls silent")
    world.apply(avro("note"))
    check_two_versions(world)


def test_after_the_api_server_was_killed_and_started_again_work_goes_on(rig: Rig, world: World) -> None:
    rig.plane.stop_apiserver()
    rig.proxy.clear()
    until(lambda: any("/leases" in call.path for call in rig.proxy.calls), "the controller to miss the API server")
    rig.plane.start_apiserver()
    world.apply(avro("note"))
    check_two_versions(world)


def test_a_silent_api_server_ends_leadership_and_work_goes_on_when_it_responds_again(rig: Rig, world: World) -> None:
    rig.plane.apiserver.pause()
    until(lambda: not leads(rig.product.controller_probe), "the controller to notice")
    rig.plane.apiserver.resume()
    if rig.product.controller.exit_status is not None:
        rig.product.start_controller()
    world.apply(avro("note"))
    check_two_versions(world)
