"""No document makes an entry point raise another error than ours, hang, or fill the memory.

200 documents in a sample, 2,000 in a full run; more by hand, of another seed each time, which is printed and can be set
again:

    TOPICSCHEMA_HOSTILE=100000 [TOPICSCHEMA_HOSTILE_SEED=...] [TOPICSCHEMA_HOSTILE_FROM=...] pytest -s THIS_FILE

The limits are 1 second and 500 MB for one call, so a full run measures time. It counts CPU time in a child process,
because the machine may be busy. A busy machine's cores are also slower, so a slow call is repeated and measured beside
an anchor. A sample checks only that no call hangs (`hostile.__main__.HANGS_AFTER`). It still takes longer than most
tests: each document goes to every entry point.
"""

import os
import secrets
import sys
from pathlib import Path
from typing import Final

import pytest

from hostile import documents, supervisor
from hostile.supervisor import Limits
from support import sizes

_IN_A_FULL_RUN: Final = 2_000
_COUNT: Final = int(os.environ.get("TOPICSCHEMA_HOSTILE") or sizes.sized(200, _IN_A_FULL_RUN))
_FIRST: Final = int(os.environ.get("TOPICSCHEMA_HOSTILE_FROM", "0"))
_SEED: Final = int(
    os.environ.get("TOPICSCHEMA_HOSTILE_SEED", secrets.randbelow(10**6) if _COUNT > _IN_A_FULL_RUN else 1)
)
_IS_TIMED: Final = sizes.IS_FULL or "TOPICSCHEMA_HOSTILE" in os.environ
_LIMITS: Final = Limits(1 if _IS_TIMED else float("inf"), 500_000_000)
_SLICE: Final = 1_000


@pytest.mark.timeout(0 if _COUNT > _IN_A_FULL_RUN else 900)
def test_no_document_makes_any_entry_point_raise_hang_or_fill_the_memory(tmp_path: Path) -> None:
    reported = []
    for first in range(_FIRST, _COUNT, _SLICE):
        numbers = range(first, min(first + _SLICE, _COUNT))
        lines = [each.save(tmp_path) for each in supervisor.failures(_SEED, numbers, _LIMITS, tmp_path)]
        reported += lines
        progress = f"seed {_SEED}: {numbers.stop:,} of {_COUNT:,} documents, {len(reported)} failures"
        sys.stdout.write("\n".join([*lines, progress]) + "\n")
    assert not reported, "\n".join(reported[:20])


def test_a_document_is_the_same_every_time() -> None:
    for number in range(60):
        one, other = (documents.document(7, number) for _ in range(2))
        assert (one.info, one.twin, one.payload) == (other.info, other.twin, other.payload)


def test_a_document_beyond_the_limits_is_reported_and_saved(tmp_path: Path) -> None:
    failures = list(supervisor.failures(1, range(2), Limits(-1.0, 10_000_000), tmp_path))
    assert {each.number for each in failures} == {0, 1}
    assert {each.entry_point for each in failures} >= {"memory", "parse", "batch register"}
    assert "saved in" in failures[0].save(tmp_path)
