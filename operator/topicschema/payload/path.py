"""Path from a payload's root to a value, recorded while reading and rendered only for a finding."""

from typing import Final, NamedTuple

from topicschema.core.formats import json_text

_MAX_STEPS: Final = 40
_MAX_LENGTH: Final = 400


class MapEntry(NamedTuple):
    """Step into a map: the index of the entry, from 0. Its key belongs to the message and is not shown."""

    number: int
    key: str = ""


PathStep = str | int | MapEntry
Path = tuple["Path | None", PathStep]
"""Path of a step's parent, None at the root, and the step.

It is a plain pair, because every value of a message has one.
"""


def shown(path: Path | None) -> str:
    """Return the path for people, `$.lines[2].price`. A map's entry is `{0}`, and a long path has `…` in its middle."""
    steps = steps_of(path)
    if len(steps) > _MAX_STEPS:
        half = _MAX_STEPS // 2
        return f"{_written(steps[:half])}…{_written(steps[-half:])[1:]}"[:_MAX_LENGTH]
    return _written(steps)[:_MAX_LENGTH]


def in_text(path: Path | None) -> str:
    """Return the JSON path for `json_text.locate`, with the keys of maps."""
    written = "$"
    for step in steps_of(path):
        written = f"{written}[{step}]" if isinstance(step, int) else json_text.member(written, _name(step))
    return written


def steps_of(path: Path | None) -> list[PathStep]:
    """Return all steps from the root."""
    steps: list[PathStep] = []
    while path is not None:
        path, step = path
        steps.append(step)
    return steps[::-1]


def _name(step: str | MapEntry) -> str:
    return step if isinstance(step, str) else step.key


def _written(steps: list[PathStep]) -> str:
    return "$" + "".join(
        f".{step}" if isinstance(step, str) else f"[{step}]" if isinstance(step, int) else f"{{{step.number}}}"
        for step in steps
    )
