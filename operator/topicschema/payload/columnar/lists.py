"""Lists that verdicts refer to: reasons, paths, losses. They grow, and an entry retains its index."""

import re
from collections.abc import Hashable, Iterable
from typing import Final, Generic, TypeVar

from topicschema.payload.columnar.verdicts import ELSEWHERE, MAX_PATHS

_NUMBERED: Final = re.compile(r"\[\d+\]|\{\d+\}")

Entry = TypeVar("Entry", bound=Hashable)


class InternTable(Generic[Entry]):
    """Entries and their indexes. `beyond` represents all entries after the first `most`."""

    __slots__ = ("_beyond", "_most", "_numbers", "listed")

    def __init__(self, entries: Iterable[Entry], beyond: Entry, most: int = MAX_PATHS) -> None:
        self.listed = list(entries)
        self._numbers = {each: index for index, each in enumerate(self.listed)}
        self._beyond = beyond
        self._most = most

    def number(self, entry: Entry) -> int:
        """Return the entry's index. A new entry is added."""
        index = self._numbers.get(entry)
        if index is not None:
            return index
        if len(self.listed) >= self._most and entry != self._beyond:
            return self.number(self._beyond)
        self._numbers[entry] = len(self.listed)
        self.listed.append(entry)
        return len(self.listed) - 1


def paths() -> InternTable[str]:
    """Return a validator's list of paths."""
    return InternTable(["$"], ELSEWHERE)


def in_schema(path: str) -> str:
    """Return a finding's path without indexes of items and entries: `$.lines[2].price` is `$.lines[].price`."""
    return _NUMBERED.sub(lambda match: match.group()[0] + match.group()[-1], path)
