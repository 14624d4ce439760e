"""Annotations of this package's types beyond the Python type, for the CRDs that are made from them.

    topic: Annotated[str, Field("The topic, for instance ...", max_length=1024, rules=(IMMUTABLE,))]

A class may have rules over several of its fields: `RULES: ClassVar = (Rule(...), ...)`. `openapi` reads both.
"""

from dataclasses import KW_ONLY, dataclass
from enum import Enum
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A CEL rule that the API server enforces. `path` (for instance `.schema`) is the field of the error.

    `message_expression` is CEL, too, and replaces `message` if it can be evaluated.
    """

    cel: str
    message: str
    message_expression: str = ""
    path: str = ""
    reason: Literal["", "FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate"] = ""


IMMUTABLE = Rule(
    cel="self == oldSelf",
    message="it cannot be changed; delete the resource and create another",
    reason="FieldValueForbidden",
)


@dataclass(frozen=True, slots=True)
class Field:
    """The description of a field for `kubectl explain`, and its bounds. None means no bound.

    Lengths count characters (code points), as the API server does, not bytes. Numbers are whole, and not negative
    unless `minimum` is. `default` is the API server's value for a status without a write. `values` restricts an enum to
    the members that work. An enum with a `max_length` is a text for the API server: rules list its members and explain
    why others are refused. An item of a list has no name, so it needs no description.
    """

    description: str = ""
    _: KW_ONLY
    min_length: int | None = None
    max_length: int | None = None
    pattern: str | None = None
    format: Literal["date-time"] | None = None
    minimum: int = 0
    default: int | None = None
    max_properties: int | None = None
    max_items: int | None = None
    list_type: Literal["atomic", "set", "map"] = "atomic"
    list_map_keys: tuple[str, ...] = ()
    values: tuple[Enum, ...] = ()
    rules: tuple[Rule, ...] = ()


LENIENT = "lenient"
"""Marker for a field's type: a value that cannot be read counts as absent (for a status, which is only a report)."""

OBSERVED_GENERATION = Field(
    "Generation of the resource that this status describes; -1 before the first reconcile.",
    minimum=-1,
    default=-1,
)
"""Without the default, kstatus takes a new resource for a current one."""

FINGERPRINT = Field(
    "Hash of what Pulsar compares: equal schemas have equal fingerprints.",
    max_length=71,
    pattern="^sha256:[0-9a-f]{64}$",
)
TIME = Field("Time of registration, in UTC.", format="date-time", max_length=32)
