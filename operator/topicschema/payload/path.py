"""The way from a payload's root to a value in it, kept while reading and written out only when something is wrong."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from topicschema.core.formats import json_text

_MAX_STEPS: Final = 40
_MAX_LENGTH: Final = 400


class Entry(NamedTuple):
    """A step into a map: which entry it is, from 0. Its key belongs to the message and is not told to people."""

    number: int
    key: str = ""


class Path(NamedTuple):
    """A step, and the way to where it begins; None in its place is the root."""

    above: "Path | None"
    step: str | int | Entry

    @property
    def steps(self) -> list[str | int | Entry]:
        """All steps from the root."""
        return list(_upwards(self))[::-1]


def shown(path: Path | None) -> str:
    """The path as people read it, `$.lines[2].price`, a map's entry as `{0}`; a long one has `…` in its middle."""
    steps = path.steps if path else []
    if len(steps) > _MAX_STEPS:
        half = _MAX_STEPS // 2
        return f"{_written(steps[:half])}…{_written(steps[-half:])[1:]}"[:_MAX_LENGTH]
    return _written(steps)[:_MAX_LENGTH]


def in_text(path: Path | None) -> str:
    """The JSON path as `json_text.locate` takes it, with the keys of maps."""
    written = "$"
    for step in path.steps if path else ():
        written = f"{written}[{step}]" if isinstance(step, int) else json_text.member(written, _name(step))
    return written


def _upwards(path: Path | None) -> Iterator[str | int | Entry]:
    while path is not None:
        yield path.step
        path = path.above


def _name(step: str | Entry) -> str:
    return step if isinstance(step, str) else step.key


def _written(steps: list[str | int | Entry]) -> str:
    return "$" + "".join(
        f".{step}" if isinstance(step, str) else f"[{step}]" if isinstance(step, int) else f"{{{step.number}}}"
        for step in steps
    )
