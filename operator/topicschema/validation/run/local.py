"""Splits judged on this machine: one after the other, or in a few processes where that pays for their start."""

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Final

from topicschema.validation.errors import RunError
from topicschema.validation.report.tally import Tally
from topicschema.validation.run.task import Task
from topicschema.validation.sources import Split

Done = Callable[[Split], None]
"""Told of each split that is done."""
MOST: Final = 4
"""Processes; each has its own judges, and about 200 MB."""
WORTH: Final = 100_000
"""From so many messages on: a process takes about a second to start."""


def processes_for(messages: int) -> int:
    """How many processes should judge about so many messages here."""
    return min(MOST, len(os.sched_getaffinity(0))) if messages >= WORTH else 1


def tally(task: Task, splits: Sequence[Split], processes: int, done: Done) -> Tally:
    """The figures of all splits; RunError where a worker was killed."""
    total = Tally()
    if processes == 1 or len(splits) <= 1:
        for split in splits:
            total.merge(task.tally(split))
            done(split)
        return total
    # Spawned, not forked: threads of Arrow's and numba's do not live on in a fork.
    context = multiprocessing.get_context("spawn")
    try:
        with ProcessPoolExecutor(min(processes, len(splits)), context) as pool:
            for split, packed in _each(pool, task, splits, 2 * processes):
                total.merge(Tally.unpacked(packed))
                done(split)
    except BrokenProcessPool:
        raise RunError("a process that judged messages was killed; perhaps memory ran out") from None
    return total


def _each(pool: ProcessPoolExecutor, task: Task, splits: Iterable[Split], ahead: int) -> Iterator[tuple[Split, bytes]]:
    """The splits' tallies as they come; no more than `ahead` splits are waiting at once."""
    waiting: dict[Future[bytes], Split] = {}
    rest = iter(splits)
    try:
        while True:
            for split in rest:
                waiting[pool.submit(_packed, task, split)] = split
                if len(waiting) >= ahead:
                    break
            if not waiting:
                return
            for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                yield waiting.pop(future), future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _packed(task: Task, split: Split) -> bytes:
    return task.tally(split).packed
