"""A caller gets the result of a read that began after its call."""

import asyncio

import pytest

from topicschema.judging.single_flight import SingleFlight


class Source:
    """A number that tests change. Its reads end when `may_respond` is set."""

    def __init__(self) -> None:
        self.value = 0
        self.reads = 0
        self.may_respond = asyncio.Event()
        self.shared = SingleFlight(self.read)

    async def read(self, key: str) -> int:
        self.reads += 1
        value = self.value  # as of the beginning of the read
        await self.may_respond.wait()
        if value < 0:
            raise LookupError(key)
        return value

    async def calls(self, count: int = 1, key: str = "k") -> list[asyncio.Task[int]]:
        """Return calls that wait for their read."""
        tasks = [asyncio.create_task(self.shared.get(key)) for _ in range(count)]
        for _ in range(5):
            await asyncio.sleep(0)
        return tasks


@pytest.fixture
async def source() -> Source:
    return Source()


async def test_concurrent_calls_share_one_read(source: Source) -> None:
    calls = await source.calls(20)
    source.may_respond.set()
    assert await asyncio.gather(*calls) == [0] * 20
    assert source.reads == 1
    source.value = 1
    assert await source.shared.get("k") == 1  # no result is cached


async def test_a_running_read_is_no_result_of_a_later_call(source: Source) -> None:
    early = await source.calls()
    source.value = 1
    late = await source.calls(20)
    assert source.reads == 1
    source.may_respond.set()
    assert await asyncio.gather(*early, *late) == [0] + [1] * 20
    assert source.reads == 2


async def test_keys_do_not_wait_for_each_other(source: Source) -> None:
    await source.calls()
    (other,) = await source.calls(key="other")
    assert source.reads == 2
    source.may_respond.set()
    assert await other == 0


async def test_a_cancelled_call_leaves_the_result_of_the_others(source: Source) -> None:
    first, second = await source.calls(2)
    first.cancel()
    source.may_respond.set()
    assert await second == 0


async def test_an_error_is_raised_by_all_calls_and_the_next_one_reads_again(source: Source) -> None:
    source.value = -1
    calls = await source.calls(3)
    source.value = 7
    source.may_respond.set()
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(each) for each in results] == [LookupError] * 3
    assert await source.shared.get("k") == 7


async def test_a_read_that_hangs_does_not_delay_later_calls(source: Source) -> None:
    hanging = await source.calls()
    first, source.may_respond = source.may_respond, asyncio.Event()
    source.may_respond.set()
    assert await source.shared.get("k") == 0
    assert not hanging[0].done()
    first.set()
    assert await hanging[0] == 0
