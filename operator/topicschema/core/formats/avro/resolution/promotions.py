"""Primitive types and the types that read them (Avro's promotions, as the resolver applies them)."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

READ_BY: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "null": frozenset({"null"}),
        "boolean": frozenset({"boolean"}),
        "int": frozenset({"int", "long", "float", "double"}),
        "long": frozenset({"long", "float", "double"}),
        "float": frozenset({"float", "double"}),
        "double": frozenset({"double"}),
        "bytes": frozenset({"bytes", "string"}),
        "string": frozenset({"string", "bytes"}),
    }
)
"""The reader's kinds that read each kind of a writer."""
