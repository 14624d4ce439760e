"""Comparing a candidate with the versions before it, a part of them at a time.

Few versions are in memory together, whatever the length of the history; and the parts depend on nothing but the
versions, so that whoever compares, in one process or in several, counts the same steps.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from topicschema.core import compatibility
from topicschema.core.checkers import Checkers
from topicschema.core.compatibility import Incompatibility, Predecessor
from topicschema.core.schemas import Schema
from topicschema.core.steps import Steps, TooComplexError
from topicschema.core.strategies import Strategy

MOST_VERSIONS: Final = 100
MOST_BYTES: Final = 1024 * 1024
"""Of the texts of a part, but for its last."""


@dataclass(frozen=True, slots=True)
class Found:
    """What was found in a part: `refused` are reasons to refuse the candidate, `risks` are only told.

    `steps` is how many steps it took. Where they did not suffice the last reason, or the last risk if there is no
    reason, is COMPARISON_TOO_COMPLEX, and `is_cut_short` is true.
    """

    refused: tuple[Incompatibility, ...] = ()
    risks: tuple[Incompatibility, ...] = ()
    steps: int = 0
    is_cut_short: bool = False

    def __add__(self, other: "Found") -> "Found":
        """Return both, this one's first."""
        return Found(
            self.refused + other.refused,
            self.risks + other.risks,
            self.steps + other.steps,
            self.is_cut_short or other.is_cut_short,
        )


def is_full(versions: int, size: int) -> bool:
    """Whether a part with so many versions, of so many bytes of text, takes no more."""
    return versions == MOST_VERSIONS or size >= MOST_BYTES


def divided(newest_first: Iterable[Predecessor]) -> Iterator[list[Predecessor]]:
    """Yield the versions in parts."""
    part: list[Predecessor] = []
    size = 0
    for each in newest_first:
        if is_full(len(part), size):
            yield part
            part, size = [], 0
        part.append(each)
        size += len(each.schema.info.schema) if each.schema else 0
    yield part


def compare(
    candidate: Schema, newest_first: Sequence[Predecessor], strategy: Strategy, checkers: Checkers, most_steps: int
) -> Found:
    """Compare with the versions of one part, within so many steps; what `compatibility.check` and `risks` tell.

    The checkers that are plugged in are not asked.
    """
    steps = Steps(most_steps)
    refused, risks = list[Incompatibility](), list[Incompatibility]()

    def checked(each: Predecessor) -> Iterator[Incompatibility]:
        return compatibility.against(candidate, each, strategy, checkers, steps)

    def told(each: Predecessor) -> Iterator[Incompatibility]:
        return compatibility.risks_against(candidate, each, strategy, steps)

    is_whole = strategy is Strategy.ALWAYS_COMPATIBLE or _asked(checked, newest_first, refused)
    is_whole = is_whole and _asked(told, newest_first, risks)
    return Found(tuple(refused), tuple(risks), steps.taken, is_cut_short=not is_whole)


def _asked(
    ask: Callable[[Predecessor], Iterator[Incompatibility]],
    newest_first: Sequence[Predecessor],
    found: list[Incompatibility],
) -> bool:
    """Add what is found of each version; return whether the steps sufficed."""
    for each in newest_first:
        try:
            found += ask(each)
        except TooComplexError:
            found.append(compatibility.too_complex(each))
            return False
    return True
