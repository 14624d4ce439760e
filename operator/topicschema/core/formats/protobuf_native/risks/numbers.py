"""Sets of numbers that are defined by ranges: a message's or an enum's reserved numbers and extension numbers."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator

from topicschema.core.formats.protobuf_native.model import Range

_SHOWN = 5


class Numbers:
    """The numbers in some ranges, which may overlap."""

    def __init__(self, ranges: Iterable[Range]) -> None:
        merged: list[tuple[int, int]] = []
        for start, end in sorted((each.start, each.end) for each in ranges if each.start <= each.end):
            if merged and start <= merged[-1][1] + 1:
                merged[-1] = merged[-1][0], max(end, merged[-1][1])
            else:
                merged.append((start, end))
        self._ranges = merged

    def __contains__(self, number: int) -> bool:
        index = bisect_right(self._ranges, number, key=lambda each: each[0]) - 1
        return index >= 0 and number <= self._ranges[index][1]

    def __bool__(self) -> bool:
        return bool(self._ranges)

    def __str__(self) -> str:
        shown = [str(start) if start == end else f"{start} to {end}" for start, end in self._ranges[:_SHOWN]]
        return ", ".join([*shown, "others"] if len(self._ranges) > _SHOWN else shown)

    def without(self, others: "Numbers", single: Iterable[int] = ()) -> "Numbers":
        """Return these numbers without those of the others."""
        singles = [(number, number) for number in single]
        holes = Numbers(Range(*each) for each in (*others._ranges, *singles))  # noqa: SLF001 - of the same class
        return Numbers(Range(*each) for each in self._without(holes._ranges))

    def _without(self, holes: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        left = iter(holes)
        hole = next(left, None)
        for start, end in self._ranges:
            at = start
            while hole is not None and hole[0] <= end:
                if at < hole[0]:
                    yield at, hole[0] - 1
                at = max(at, hole[1] + 1)
                if hole[1] >= end:
                    break  # it may reach into the next range
                hole = next(left, None)
            if at <= end:
                yield at, end
