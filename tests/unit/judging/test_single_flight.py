"""Whoever asks gets what a read found that began after the question."""

import asyncio

import pytest

from topicschema.judging.single_flight import SingleFlight


class Place:
    """Holds a number that tests change, and answers reads when told to."""

    def __init__(self) -> None:
        self.value = 0
        self.reads = 0
        self.answer = asyncio.Event()
        self.shared = SingleFlight(self.read)

    async def read(self, key: str) -> int:
        self.reads += 1
        value = self.value  # what a server saw when the request came in
        await self.answer.wait()
        if value < 0:
            raise LookupError(key)
        return value

    async def ask(self, count: int = 1) -> list[asyncio.Task[int]]:
        asked = [asyncio.create_task(self.shared.get("k")) for _ in range(count)]
        for _ in range(5):
            await asyncio.sleep(0)
        return asked


@pytest.fixture
async def place() -> Place:
    return Place()


async def test_those_who_ask_at_once_share_one_read(place: Place) -> None:
    asked = await place.ask(20)
    place.answer.set()
    assert await asyncio.gather(*asked) == [0] * 20
    assert place.reads == 1
    place.value = 1
    assert await place.shared.get("k") == 1  # no result is cached


async def test_a_read_under_way_is_no_answer_to_a_later_question(place: Place) -> None:
    early = await place.ask()
    place.value = 1
    late = await place.ask(20)
    assert place.reads == 1
    place.answer.set()
    assert await asyncio.gather(*early, *late) == [0] + [1] * 20
    assert place.reads == 2


async def test_keys_do_not_wait_for_each_other(place: Place) -> None:
    await place.ask()
    other = asyncio.create_task(place.shared.get("other"))
    for _ in range(5):
        await asyncio.sleep(0)
    assert place.reads == 2
    place.answer.set()
    assert await other == 0


async def test_one_who_gives_up_takes_nothing_from_the_others(place: Place) -> None:
    first, second = await place.ask(2)
    first.cancel()
    place.answer.set()
    assert await second == 0


async def test_an_error_is_told_to_all_and_the_next_question_reads_again(place: Place) -> None:
    place.value = -1
    asked = await place.ask(3)
    place.value = 7
    place.answer.set()
    told = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(each) for each in told] == [LookupError] * 3
    assert await place.shared.get("k") == 7


async def test_a_read_that_hangs_does_not_hold_up_those_who_come_later(place: Place) -> None:
    hanging = await place.ask()
    answer, place.answer = place.answer, asyncio.Event()
    place.answer.set()
    assert await place.shared.get("k") == 0
    assert not hanging[0].done()
    answer.set()
    assert await hanging[0] == 0
