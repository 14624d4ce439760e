"""Comparison of a candidate with the versions before it, one part of them at a time.

Few versions are in memory together, however long the history is. The parts depend only on the versions, so that one
process and several processes count the same steps.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Self

from topicschema.core import compatibility
from topicschema.core.checkers import Checkers
from topicschema.core.compatibility import Incompatibility, Predecessor
from topicschema.core.schemas import Schema
from topicschema.core.steps import Listing, Steps, TooComplexError
from topicschema.core.strategies import Strategy

MOST_VERSIONS: Final = 100
MOST_BYTES: Final = 1024 * 1024
"""Bytes of the texts of a part, without its last."""


@dataclass(slots=True)
class Findings:
    """Findings: `refused` are reasons to refuse the candidate, `risks` only lead to warnings; `steps` is their cost.

    `too_complex` names the version at which the steps or the memory did not suffice. There may be more findings then.
    """

    refused: Listing[Incompatibility] = field(default_factory=Listing)
    risks: Listing[Incompatibility] = field(default_factory=Listing)
    steps: int = 0
    too_complex: Incompatibility | None = None

    def __iadd__(self, other: "Findings") -> Self:
        """Add the later findings."""
        self.refused += other.refused
        self.risks += other.risks
        self.steps += other.steps
        self.too_complex = self.too_complex or other.too_complex
        return self


def is_full(versions: int, size: int) -> bool:
    """Return True if a part of this number of versions and bytes of text takes no more."""
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
) -> Findings:
    """Compare with the versions of one part, within this number of steps: `compatibility.check` and `risks`.

    The plugged-in checkers are not called.
    """
    steps, findings = Steps(most_steps), Findings()
    try:
        for each in newest_first if strategy is not Strategy.ALWAYS_COMPATIBLE else ():
            findings.refused += compatibility.against(candidate, each, strategy, checkers, steps)
        for each in newest_first:
            findings.risks += compatibility.risks_against(candidate, each, strategy, steps)
    except TooComplexError:
        findings.too_complex = compatibility.too_complex(each)
    findings.steps = steps.taken
    return findings
