"""A Format whose module is imported at its first use: for rare formats whose import is slow."""

import importlib
from functools import cached_property
from typing import Any

from topicschema.core.formats.format import Format, Mismatch
from topicschema.core.schemas import PulsarVersion, Schema, SchemaInfo
from topicschema.core.steps import Steps

__all__ = ["LazyFormat"]


class LazyFormat:
    """The FORMAT of the module of that name, to which it delegates."""

    def __init__(self, module: str, *, has_checker: bool) -> None:
        self._module = module
        self.has_checker = has_checker

    def parse(self, info: SchemaInfo, pulsar_version: PulsarVersion, *, validate_defaults: bool = True) -> Schema:
        """Return the parsed schema, or raise InvalidSchemaError."""
        return self._format.parse(info, pulsar_version, validate_defaults=validate_defaults)

    def compares(self, schema: Any) -> bool:
        """Return True if the broker has a checker for it."""
        return self._format.compares(schema)

    def unreadable(self, reader: Any, writer: Any, steps: Steps) -> tuple[Mismatch, ...]:
        """Return what the reader cannot read."""
        return self._format.unreadable(reader, writer, steps)

    def risks(self, reader: Any, writer: Any, steps: Steps) -> tuple[Mismatch, ...]:
        """Return what the reader loses or misreads."""
        return self._format.risks(reader, writer, steps)

    @cached_property
    def _format(self) -> Format:
        loaded: Format = importlib.import_module(self._module).FORMAT
        return loaded
