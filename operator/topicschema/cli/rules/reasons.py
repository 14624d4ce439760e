"""Reasons of conditions and Events, with what to do: the tables of docs/operations.md, copied by `make generate`."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

_COPY: Final = Path(__file__).with_name("reasons.md")
_NAME: Final = re.compile(r"`([A-Z][A-Za-z]+)`")
_LINK: Final = re.compile(r"\[([^\]]*)\]\([^)]*\)")


@cache
def every() -> Mapping[str, tuple[str, ...]]:
    """Return the sentences about each reason, by its name: one text for each row of a table that begins with it."""
    reasons: dict[str, tuple[str, ...]] = {}
    for first, text in _rows():
        for name in _NAME.findall(first):
            reasons[name] = (*reasons.get(name, ()), text)
    return reasons


def find(name: str) -> tuple[str, str] | None:
    """Return the reason's name and its sentences, or None. The case of the letters does not matter."""
    known = next((each for each in every() if each.lower() == name.lower()), None)
    return None if known is None else (known, "\n\n".join(every()[known]))


def _rows() -> Iterator[tuple[str, str]]:
    """Yield the first cell of each row, and the others as one text without Markdown's marks."""
    for line in _COPY.read_text(encoding="utf-8").splitlines():
        first, *others = (cell.strip() for cell in line.strip("|").split("|"))
        if line.startswith("| ") and _NAME.search(first):
            text = ": ".join(each for each in others if each)
            yield first, _LINK.sub(r"\1", text).replace("`", "")
