"""Finds the checkers that are plugged in: entry points of the group `topicschema.checkers`, each named by its type.

They are loaded once, where a process starts, and passed on as values; what they are is `core.checkers`' matter.
"""

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from topicschema.core import formats
from topicschema.core.checkers import BUILT_IN, Checkers, CustomChecker
from topicschema.core.schemas import SchemaType

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP: Final = "topicschema.checkers"
_LISTS: Final = (".dist-info", ".egg-info")


class UnusableCheckerError(Exception):
    """A checker is plugged in that cannot be asked; nothing may be judged without it."""


def load() -> Checkers:
    """The checkers by type; UnusableCheckerError for one that cannot be used, and for two of one type."""
    if not _may_be_any(sys.path):
        return BUILT_IN
    # Importing it takes as long as a check does.
    from importlib.metadata import entry_points  # noqa: PLC0415

    found: dict[SchemaType, CustomChecker] = {}
    for entry in entry_points(group=GROUP):
        kind = _type(entry)
        if kind in found:
            raise UnusableCheckerError(f"two checkers of {kind} are plugged in, {found[kind].name} and {_name(entry)}")
        found[kind] = CustomChecker(_name(entry), _checker(entry))
    return MappingProxyType(found)


def _type(entry: "EntryPoint") -> SchemaType:
    known = sorted(formats.FORMATS)
    if entry.name not in known:
        raise _unusable(entry, f"{entry.name!r} is no type that schemas have; there are {', '.join(known)}")
    return SchemaType(entry.name)


def _checker(entry: "EntryPoint") -> Any:
    try:
        found = entry.load()
        checker = found() if isinstance(found, type) else found
    except Exception as error:  # not our code: whatever it raises, the checker cannot be had
        raise _unusable(entry, f"{type(error).__name__}: {error}") from error
    if not callable(getattr(checker, "incompatibilities", None)):
        raise _unusable(entry, f"{entry.value} has no method `incompatibilities`")
    return checker


def _unusable(entry: "EntryPoint", why: str) -> UnusableCheckerError:
    return UnusableCheckerError(f"the checker {_name(entry)} cannot be used: {why[:500]}")


def _name(entry: "EntryPoint") -> str:
    distribution = entry.dist
    where = "" if distribution is None else f" of {distribution.name} {distribution.version}"
    return f"{entry.value}{where}"


def _may_be_any(path: Iterable[str]) -> bool:
    """Whether any distribution may name the group: False where all can be looked into, and none does."""
    return any(_may_name_group(place or ".") for place in path)


def _may_name_group(place: str) -> bool:
    try:
        with os.scandir(place) as entries:
            names = [entry.name for entry in entries]
    except FileNotFoundError:
        return False
    except OSError:
        return True  # an archive, or something stranger
    return any(GROUP in text for text in _entry_points(place, names))


def _entry_points(place: str, names: Iterable[str]) -> Iterator[str]:
    for name in names:
        if name.lower().endswith(".egg"):
            yield GROUP  # it has its list deeper inside
        elif name.lower().endswith(_LISTS):
            try:
                yield Path(place, name, "entry_points.txt").read_text("utf-8", "replace")
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError:
                yield GROUP  # what it says cannot be seen from here
