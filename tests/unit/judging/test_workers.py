"""Worker processes: their results, their limits, and their end."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from types import MappingProxyType

import pytest

from topicschema.core.errors import InvalidSchemaError, Place, WaitingError
from topicschema.judging import worker
from topicschema.judging.cpu_time import OutOfTimeError
from topicschema.judging.workers import WorkerOutOfMemoryError, Workers

FOR_EVER = 600
_HOARD: list[bytes] = []


def failing() -> None:
    raise InvalidSchemaError("SYNTAX", "no", Place("$.a", 3, 14), escapes=True)


def buggy() -> None:
    raise KeyError("a bug")


def grown(size: int) -> int:
    return len(bytearray(size))


def hoarding(size: int) -> int:
    _HOARD.append(b"x" * size)
    return os.getpid()


def spinning() -> None:
    while True:
        with suppress(Exception):
            pass


def working(seconds: float) -> int:
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass
    return os.getpid()


def killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def for_ever(fifo: Path) -> None:
    fifo.write_text("begun")
    time.sleep(FOR_EVER)


@asynccontextmanager
async def running_for_ever(workers: Workers, folder: Path) -> AsyncIterator[asyncio.Task[None]]:
    """Yield a call that has begun and does not end by itself."""
    fifo = folder / "fifo"
    os.mkfifo(fifo)
    call = asyncio.create_task(workers.call("shop/orders", for_ever, fifo))
    assert await asyncio.to_thread(fifo.read_text) == "begun"
    yield call
    with suppress(asyncio.CancelledError, WaitingError):
        await call


@pytest.fixture
async def workers() -> AsyncIterator[Workers]:
    workers = Workers(at_once=2)
    yield workers
    await asyncio.to_thread(workers.close)


def pair(first: object, second: object) -> tuple[object, object]:
    return first, second


async def test_a_call_returns_what_the_function_returns_of_another_process(workers: Workers) -> None:
    assert await workers.call("shop/orders", os.getpid) != os.getpid()
    read_only = MappingProxyType({"a": "b"})
    assert await workers.call("shop/orders", pair, read_only, 2) == (read_only, 2)


async def test_one_process_answers_one_call_after_the_other(workers: Workers) -> None:
    assert len({await workers.call("shop/orders", os.getpid) for _ in range(20)}) == 1


async def test_calls_at_once_are_answered_by_several_processes_and_more_wait(workers: Workers) -> None:
    answers = await asyncio.gather(*(workers.call(f"shop/{each}", os.getpid) for each in range(20)))
    assert len(set(answers)) == 2


async def test_an_error_is_raised_unchanged_with_its_place(workers: Workers) -> None:
    with pytest.raises(InvalidSchemaError) as invalid:
        await workers.call("shop/orders", failing)
    error = invalid.value
    assert (error.rule, error.message, str(error.place), error.escapes) == ("SYNTAX", "no", "line 3, column 14", True)
    with pytest.raises(KeyError) as bug:
        await workers.call("shop/orders", buggy)
    assert "in buggy" in bug.value.__notes__[0]


async def test_a_call_that_takes_too_long_ends_with_its_process(workers: Workers) -> None:
    pid = await workers.call("shop/orders", os.getpid)  # which may take long
    workers._seconds = 0.1
    with pytest.raises(WaitingError) as late:
        await workers.call("shop/orders", time.sleep, FOR_EVER)
    assert late.value.reason == "WorkerTimeout"
    await asyncio.to_thread(workers.close)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_the_calls_of_a_namespace_take_turns_and_delay_no_other(workers: Workers, tmp_path: Path) -> None:
    async with running_for_ever(workers, tmp_path) as call:
        waiting = [asyncio.create_task(workers.call("shop/orders", os.getpid)) for _ in range(5)]
        pid = await workers.call("other/orders", os.getpid)
        assert not any(each.done() for each in waiting)
        call.cancel()
        assert {await each for each in waiting} == {pid}


async def test_a_call_that_takes_too_much_cpu_time_ends_with_its_process() -> None:
    workers = Workers(cpu_seconds=0.05)
    pid = await workers.call("shop/orders", os.getpid)
    with pytest.raises(OutOfTimeError, match=r"takes more than 0\.05 seconds of CPU time"):
        await workers.call("shop/orders", spinning)
    assert await workers.call("shop/orders", os.getpid) != pid
    await asyncio.to_thread(workers.close)


async def test_each_call_has_the_cpu_time_for_itself() -> None:
    workers = Workers(cpu_seconds=0.5)
    assert len({await workers.call("shop/orders", working, 0.1) for _ in range(7)}) == 1
    await asyncio.to_thread(workers.close)


async def test_a_call_that_is_cancelled_ends_with_its_process(workers: Workers, tmp_path: Path) -> None:
    pid = await workers.call("shop/orders", os.getpid)
    async with running_for_ever(workers, tmp_path) as call:
        call.cancel()
    assert await workers.call("shop/orders", os.getpid) != pid


async def test_a_process_that_is_killed_is_reported_and_the_next_call_gets_another(workers: Workers) -> None:
    pid = await workers.call("shop/orders", os.getpid)
    with pytest.raises(WaitingError) as ended:
        await workers.call("shop/orders", killed)
    assert (ended.value.reason, ended.value.message) == ("WorkerUnavailable", "a worker ended with -9")
    assert await workers.call("shop/orders", os.getpid) != pid


async def test_a_process_that_died_while_it_was_idle_is_replaced(workers: Workers) -> None:
    pid = await workers.call("shop/orders", os.getpid)
    os.kill(pid, signal.SIGKILL)
    await asyncio.to_thread(os.waitid, os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert await workers.call("shop/orders", os.getpid) != pid


async def test_a_call_that_takes_too_much_memory_is_reported_as_such(workers: Workers) -> None:
    with pytest.raises(WorkerOutOfMemoryError) as needed:
        await workers.call("shop/orders", grown, worker.MOST_BYTES)
    assert str(needed.value) == "takes more than 256 MiB of memory"
    assert await workers.call("shop/orders", grown, 1_000) == 1_000


async def test_a_process_that_has_grown_ends_after_its_answer(workers: Workers) -> None:
    before = await workers.call("shop/orders", os.getpid)
    assert await workers.call("shop/orders", hoarding, 150 * 2**20) == before
    assert await workers.call("shop/orders", os.getpid) != before


async def test_a_process_ends_with_the_one_that_started_it() -> None:
    program = (
        "import asyncio, os\nfrom topicschema.judging.workers import Workers\n"
        "print(asyncio.run(Workers().call('shop/orders', os.getpid)))\nos.kill(os.getpid(), 9)"
    )
    starter = await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE)
    async with asyncio.timeout(60):
        await starter.communicate()  # reads until both have ended: they share the pipe
    assert starter.returncode == -signal.SIGKILL


async def test_calls_under_way_fail_when_all_is_closed(workers: Workers, tmp_path: Path) -> None:
    async with running_for_ever(workers, tmp_path) as call:
        await asyncio.to_thread(workers.close)
        with pytest.raises(WaitingError):
            await call
