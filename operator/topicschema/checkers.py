"""Loader of plugged-in checkers: entry points of the group `topicschema.checkers`, each named by its schema type.

They are loaded once, when a process starts, and passed on as values. See `core.checkers` for the protocol.
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
    """A plugged-in checker that cannot be used. No schema may be judged without it."""


def load() -> Checkers:
    """Return the checkers by type. Raises UnusableCheckerError if one cannot be used, or if a type has two."""
    if not _may_be_any(sys.path):
        return BUILT_IN
    # Importing it takes as long as a check does.
    from importlib.metadata import entry_points  # noqa: PLC0415

    checkers: dict[SchemaType, CustomChecker] = {}
    for entry in entry_points(group=GROUP):
        kind = _type(entry)
        if kind in checkers:
            raise UnusableCheckerError(
                f"two checkers of {kind} are plugged in, {checkers[kind].name} and {_name(entry)}"
            )
        checkers[kind] = CustomChecker(_name(entry), _checker(entry))
    return MappingProxyType(checkers)


def _type(entry: "EntryPoint") -> SchemaType:
    type_names = sorted(formats.FORMATS)
    if entry.name not in type_names:
        raise _unusable(entry, f"{entry.name!r} is no type that schemas have; there are {', '.join(type_names)}")
    return SchemaType(entry.name)


def _checker(entry: "EntryPoint") -> Any:
    try:
        loaded = entry.load()
        checker = loaded() if isinstance(loaded, type) else loaded
    except Exception as error:  # any error of foreign code means that the checker cannot be used
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
    """Return False only if all distributions can be read and none names the group."""
    return any(_may_name_group(place or ".") for place in path)


def _may_name_group(place: str) -> bool:
    try:
        with os.scandir(place) as entries:
            names = [entry.name for entry in entries]
    except FileNotFoundError:
        return False
    except OSError:
        return True  # an archive, or a loader of its own
    return any(GROUP in text for text in _entry_points(place, names))


def _entry_points(place: str, names: Iterable[str]) -> Iterator[str]:
    for name in names:
        if name.lower().endswith(".egg"):
            yield GROUP  # its list is deeper inside
        elif name.lower().endswith(_LISTS):
            try:
                yield Path(place, name, "entry_points.txt").read_text("utf-8", "replace")
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError:
                yield GROUP  # a directory that cannot be read
