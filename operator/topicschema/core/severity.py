"""What breaks where a rule of `risks` is not kept: the one table. Which rules there are is the formats' matter.

The broker's own refusals need no severity: nothing is registered that could break.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class Severity(StrEnum):
    """What breaks first, the worst at the top; what breaks on the wire breaks in JSON and in code, too."""

    WIRE = "WIRE"
    JSON = "JSON"
    CODE = "CODE"

    @property
    def meaning(self) -> str:
        """The same, for people."""
        return _MEANINGS[self]


_MEANINGS: Final[Mapping[Severity, str]] = MappingProxyType(
    {
        Severity.WIRE: "messages are lost or misread",
        Severity.JSON: "the JSON form of messages changes",
        Severity.CODE: "generated code changes",
    }
)
_SEVERITIES: Final[Mapping[str, Severity]] = MappingProxyType(
    {
        "TYPE_CHANGED": Severity.WIRE,
    }
)


def severity_of(rule: str) -> Severity | None:
    """What breaks, None for a rule that is never a risk."""
    return _SEVERITIES.get(rule)
