"""The lists that verdicts point into: reasons, paths, losses. They grow, and what they held keeps its index."""

import re
from collections.abc import Hashable, Iterable
from typing import Final, Generic, TypeVar

from topicschema.payload.columnar.verdicts import ELSEWHERE, MAX_PATHS

_NUMBERED: Final = re.compile(r"\[\d+\]|\{\d+\}")

Entry = TypeVar("Entry", bound=Hashable)


class InternTable(Generic[Entry]):
    """Entries and their indexes; `beyond` stands for all that come after the first `most`."""

    __slots__ = ("_beyond", "_most", "_numbers", "listed")

    def __init__(self, entries: Iterable[Entry], beyond: Entry, most: int = MAX_PATHS) -> None:
        self.listed = list(entries)
        self._numbers = {each: index for index, each in enumerate(self.listed)}
        self._beyond = beyond
        self._most = most

    def number(self, entry: Entry) -> int:
        """The entry's index; it is put in if it is new."""
        found = self._numbers.get(entry)
        if found is not None:
            return found
        if len(self.listed) >= self._most and entry != self._beyond:
            return self.number(self._beyond)
        self._numbers[entry] = len(self.listed)
        self.listed.append(entry)
        return len(self.listed) - 1


def paths() -> InternTable[str]:
    """A validator's list of paths."""
    return InternTable(["$"], ELSEWHERE)


def in_schema(path: str) -> str:
    """A finding's path without the numbers of items and entries: `$.lines[2].price` is `$.lines[].price`."""
    return _NUMBERED.sub(lambda found: found.group()[0] + found.group()[-1], path)
