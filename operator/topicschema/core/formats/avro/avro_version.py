"""The releases of Avro's Java library that judge. The modules that depend on the release describe the differences."""

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final

from topicschema.core.schemas import PulsarVersion


class Library(Enum):
    """A release of Avro's Java library."""

    AVRO_1_11 = "1.11.4"
    AVRO_1_12 = "1.12.0"

    @property
    def stores_doubles_as_floats(self) -> bool:
        """True if GenericDatumReader stores the values of an array of doubles as floats (PrimitivesArrays)."""
        return self is Library.AVRO_1_12


_OF: Final[Mapping[PulsarVersion, Library]] = MappingProxyType({each: Library(each.avro) for each in PulsarVersion})


def of(pulsar_version: PulsarVersion) -> Library:
    """Return the library that a broker of `pulsar_version` uses."""
    return _OF[pulsar_version]
