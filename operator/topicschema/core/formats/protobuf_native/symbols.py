"""The resolution of names inside one file: its own symbols, then those of its imports.

Source: Descriptors.DescriptorPool of protobuf's Java library (3.25, as in Pulsar 4.0). Imports and their public imports
are visible to a file. Two files may define one name, as long as no file to which both are visible refers to it. Inside
one file, a name is defined once. The scope of an enum's values is the enum, not its parent.
"""

import re
from collections.abc import Collection, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any, Final

from topicschema.core.errors import InvalidSchemaError, Place

_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SHOWN: Final = 120
MAX_NAME: Final = 512
MAX_PACKAGE_DOTS: Final = 64
"""Bounds of this reader, far above real names and packages. A small text must not become large in memory."""


class Sort(Enum):
    """The kind of definition that a name refers to."""

    MESSAGE = "a message"
    ENUM = "an enum"
    SERVICE = "a service"
    PACKAGE = "a package"
    OTHER = "a field, a value or a method"


_TYPES: Final = frozenset({Sort.MESSAGE, Sort.ENUM})
_AGGREGATES: Final = _TYPES | {Sort.SERVICE, Sort.PACKAGE}
_NONE: Final[AbstractSet[Any]] = frozenset()


@dataclass(frozen=True, slots=True)
class Symbol:
    """A defined name. `content` is what references to it need: an enum's names, a message's extensions."""

    sort: Sort
    full_name: str
    file: str
    content: Any = None


class Registry:
    """The names of all files of a set, which share it.

    `files` are those of each definition's full name, `packages` those of each package and of the packages around it.
    `scopes` are the places that define each simple name of a message, enum, service or package. `outer` has for each
    scope the enclosing one, and a dot if there is one.
    """

    def __init__(self) -> None:
        self.files: dict[str, list[Symbols]] = {}
        self.packages: dict[str, set[Symbols]] = {}
        self.scopes: dict[str, set[str]] = {}
        self.outer: dict[str, tuple[str, str]] = {}

    def add_scope(self, full_name: str) -> None:
        """Add the place of a name."""
        scope, _, name = full_name.rpartition(".")
        self.scopes.setdefault(name, set()).add(scope)


class Symbols:
    """The names of one file. `visible` are those of its imports and their public imports."""

    def __init__(self, file: str, package: str, visible: Collection["Symbols"], registry: Registry) -> None:
        self.file = file
        self.package = package
        self._visible = frozenset((self, *visible))
        self._registry = registry
        self._own: dict[str, Symbol] = {}
        self._cache: dict[tuple[str, frozenset[Sort]], Symbol | None] = {}
        self._add_package(package)

    def add(self, sort: Sort, scope: str, name: str, content: Any = None) -> str:
        """Return the full name of a new definition. Raises InvalidSchemaError if its name is invalid or taken."""
        full_name = f"{scope}.{name}" if scope else name
        if not _IDENTIFIER.fullmatch(name):
            raise self.refusal(scope, f"{shown(name)!r} is no name: letters, digits and _ are, in ASCII")
        if len(full_name) > MAX_NAME:
            raise self.refusal(full_name, f"full names of more than {MAX_NAME} characters are not read")
        taken = self._own_symbol(full_name)
        if taken is not None:
            raise self.refusal(full_name, f"the name is that of {taken.sort.value} already")
        self._own[full_name] = Symbol(sort, full_name, self.file, content)
        self._registry.files.setdefault(full_name, []).append(self)
        if sort in _AGGREGATES:
            self._registry.add_scope(full_name)
        return full_name

    def find(self, full_name: str, sorts: frozenset[Sort] = frozenset(Sort)) -> Symbol | None:
        """Return the symbol of the full name in this file if it is one of `sorts`: its own definition before others.

        Raises InvalidSchemaError if several imports define it, because the broker's choice is arbitrary.
        """
        key = (full_name, sorts)
        if key not in self._cache:
            self._cache[key] = self._choice(full_name, sorts)
        return self._cache[key]

    def resolve(self, name: str, scope: str) -> Symbol:
        """Return the symbol of `name` for the descriptor with the full name `scope`.

        Raises InvalidSchemaError without one.

        As in C++, the innermost scope that has the first part of the name decides.
        """
        symbol = self.find(name[1:], _TYPES) if name.startswith(".") else self._resolve_relative(name, scope)
        if symbol is None:
            raise self.refusal(scope, f"the type {shown(name)!r} is not defined in this file or what it imports")
        return symbol

    def refusal(self, where: str, message: str) -> InvalidSchemaError:
        """Return the refusal of a definition of this file."""
        place = f"{shown(self.file)}, {shown(where)}" if where else shown(self.file)
        return InvalidSchemaError("INVALID_DESCRIPTOR", f"{place}: {message}", Place("$.fileDescriptorSet"))

    def _choice(self, full_name: str, sorts: frozenset[Sort]) -> Symbol | None:
        own = self._own_symbol(full_name)
        if own is not None and own.sort in sorts:
            return own
        files = self._registry.files.get(full_name, ())
        symbols = [each._own[full_name] for each in files if each in self._visible]  # noqa: SLF001 - of the same class
        symbols = [symbol for symbol in symbols if symbol.sort in sorts]
        if Sort.PACKAGE in sorts and not self._registry.packages.get(full_name, _NONE).isdisjoint(self._visible_twice):
            symbols.append(self._package(full_name))
        if len(symbols) > 1 and any(symbol.sort is not Sort.PACKAGE for symbol in symbols):
            raise self.refusal(full_name, "more than one imported file defines the name")
        return symbols[0] if symbols else None

    def _own_symbol(self, full_name: str) -> Symbol | None:
        """Return the file's symbol. As in Java, the packages of visible files are packages of the file itself."""
        own = self._own.get(full_name)
        if own is None and not self._registry.packages.get(full_name, _NONE).isdisjoint(self._visible):
            return self._package(full_name)
        return own

    def _package(self, full_name: str) -> Symbol:
        return Symbol(Sort.PACKAGE, full_name, self.file)

    @cached_property
    def _visible_twice(self) -> AbstractSet["Symbols"]:
        """The files that are visible to those that are visible: their packages are packages of the latter."""
        return frozenset().union(*(each._visible for each in self._visible))  # noqa: SLF001 - of the same class

    def _add_package(self, package: str) -> None:
        if len(package) > MAX_NAME or package.count(".") > MAX_PACKAGE_DOTS:
            raise self.refusal("", "the package's name is longer than is read")
        end = package.find(".")
        while end != -1:
            self._add_package_name(package[:end])
            end = package.find(".", end + 1)
        self._add_package_name(package)

    def _add_package_name(self, name: str) -> None:
        self._registry.packages.setdefault(name, set()).add(self)
        self._registry.add_scope(name)

    def _resolve_relative(self, name: str, descriptor: str) -> Symbol | None:
        first, dot, _ = name.partition(".")
        scopes = self._registry.scopes.get(first, _NONE)
        for scope in self._enclosing_scopes(descriptor):
            symbol = self.find(f"{scope}.{first}", _AGGREGATES) if scope in scopes else None
            if symbol is not None:
                return self.find(f"{scope}.{name}", _TYPES) if dot else symbol
        return self.find(name, _TYPES)

    def _enclosing_scopes(self, name: str) -> Iterator[str]:
        """Yield the scopes, innermost first: the same strings each time, because their hashes are cached."""
        outer = self._registry.outer
        scope, dot, _ = name.rpartition(".")
        while dot:
            yield scope
            if scope not in outer:
                enclosing, dot, _ = scope.rpartition(".")
                outer[scope] = enclosing, dot
            scope, dot = outer[scope]


def shown(name: str) -> str:
    """Return the name for a message: all of it, unless it is very long."""
    return name if len(name) <= _SHOWN else f"{name[:_SHOWN]}…"
