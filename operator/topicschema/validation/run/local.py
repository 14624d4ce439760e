"""Validation of splits on this machine, in one process, or in a few if that is faster."""

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
"""Function that is called after each split."""
MOST: Final = 4
"""Maximum number of processes. Each has its own validators and takes about 200 MB."""
WORTH: Final = 100_000
"""Minimum number of messages for several processes. A process takes about a second to start."""


def processes_for(messages: int) -> int:
    """Return the number of processes for about this number of messages."""
    return min(MOST, len(os.sched_getaffinity(0))) if messages >= WORTH else 1


def tally(task: Task, splits: Sequence[Split], processes: int, done: Done) -> Tally:
    """Return the tally of all splits. Raises RunError if a worker was killed."""
    total = Tally()
    if processes == 1 or len(splits) <= 1:
        for split in splits:
            total.merge(task.tally(split))
            done(split)
        return total
    # Spawned, not forked: threads of Arrow and numba do not survive a fork.
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
    """Yield the splits with their tallies, in order of completion. At most `ahead` splits are submitted at once."""
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
