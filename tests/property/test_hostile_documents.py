"""No document makes any door raise anything but our own errors, hang, or fill the memory.

150 in `make test`, 2,000 in `make test-all`, more by hand, of another seed each time, which is printed:

    TOPICSCHEMA_HOSTILE=100000 [TOPICSCHEMA_HOSTILE_SEED=...] [TOPICSCHEMA_HOSTILE_FROM=...] pytest -s THIS_FILE

By hand the limits are 1 second of CPU time and 500 MB. As a busy machine's cores are slower, what takes longer than
that is done again, and measured by an anchor beside it. In the other two nothing looks at the clock: a document that
hangs ends with the test's timeout.
"""

import os
import secrets
import sys
from pathlib import Path
from typing import Final

import pytest

from hostile import documents, watching
from hostile.watching import Limits
from support.sizes import sized

_BY_HAND: Final = "TOPICSCHEMA_HOSTILE" in os.environ
_COUNT: Final = int(os.environ.get("TOPICSCHEMA_HOSTILE", sized(150, 2_000)))
_FIRST: Final = int(os.environ.get("TOPICSCHEMA_HOSTILE_FROM", "0"))
_SEED: Final = int(os.environ.get("TOPICSCHEMA_HOSTILE_SEED", secrets.randbelow(10**6) if _BY_HAND else 1))
_SECONDS: Final = float(os.environ.get("TOPICSCHEMA_HOSTILE_SECONDS", "1" if _BY_HAND else "inf"))
_LIMITS: Final = Limits(_SECONDS, 500_000_000)
_SLICE: Final = 1_000


@pytest.mark.timeout(0 if _BY_HAND else 900)
def test_no_document_makes_any_door_raise_hang_or_fill_the_memory(tmp_path: Path) -> None:
    told = []
    for first in range(_FIRST, _COUNT, _SLICE):
        numbers = range(first, min(first + _SLICE, _COUNT))
        found = [each.saved(tmp_path) for each in watching.failures(_SEED, numbers, _LIMITS, tmp_path)]
        told += found
        lines = [*found, f"seed {_SEED}: {numbers.stop:,} of {_COUNT:,} documents, {len(told)} failures"]
        sys.stdout.write("\n".join(lines) + "\n")
    assert not told, "\n".join(told[:20])


def test_a_document_is_the_same_every_time() -> None:
    for number in range(60):
        one, other = (documents.document(7, number) for _ in range(2))
        assert (one.info, one.twin, one.payload) == (other.info, other.twin, other.payload)


def test_what_takes_more_than_it_may_is_told_and_saved(tmp_path: Path) -> None:
    found = list(watching.failures(1, range(2), Limits(-1.0, 10_000_000), tmp_path))
    assert {each.number for each in found} == {0, 1}
    assert {each.door for each in found} >= {"memory", "parse", "batch register"}
    assert "saved in" in found[0].saved(tmp_path)


def test_a_failure_is_saved_though_its_value_cannot_be_shown(tmp_path: Path) -> None:
    too_deep = next(number for number in range(1_000) if _is_too_deep(documents.document(7, number).value))
    assert f"7-{too_deep}" in watching.Failure(7, too_deep, "encode", "raised").saved(tmp_path)


def _is_too_deep(value: object) -> bool:
    try:
        repr(value)
    except RecursionError:
        return True
    except ValueError:  # a number of too many digits
        return False
    return False
