"""Annotations of this package's types beyond the Python type, for the CRDs that are made from them.

    topic: Annotated[str, Field("The topic, for instance ...", max_length=1024, rules=(IMMUTABLE,))]

A class may have rules over several of its fields: `RULES: ClassVar = (Rule(...), ...)`. `openapi` reads both.
"""

import re
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from enum import Enum
from functools import cache
from typing import Any, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class CelRule:
    """A CEL rule that the API server enforces. `path` (for instance `.schema`) is the field of the error.

    `holds` is the rule in Python, for `topicschema check`. Its argument is parsed JSON, in which null means absent. It
    is None for what other code checks.

    `message_expression` is CEL, too, and replaces `message` if it can be evaluated.
    """

    cel: str
    message: str
    holds: Callable[[Any], bool] | None = None
    message_expression: str = ""
    path: str = ""
    reason: Literal["", "FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate"] = ""


class Amount(str):
    """A Kubernetes quantity, for instance `500m`. On the wire it is a text or a whole number."""

    __slots__ = ()


IMMUTABLE = CelRule(
    cel="self == oldSelf",
    message="it cannot be changed; delete the resource and create another",
    reason="FieldValueForbidden",
)


def matching(pattern: str, message: str) -> CelRule:
    """Return the rule that a text matches an expression, which is for RE2 and for Python."""
    return CelRule(cel=_matches(pattern), message=message, holds=lambda text: matches(pattern, text))


def not_matching(pattern: str, message: str) -> CelRule:
    """Return the rule that a text does not match an expression, which is for RE2 and for Python."""
    return CelRule(cel=f"!{_matches(pattern)}", message=message, holds=lambda text: not matches(pattern, text))


def one_of(*names: str) -> CelRule:
    """Return the rule that an object has exactly one of these members."""
    return CelRule(
        cel=f"[{', '.join(f'has(self.{each})' for each in names)}].filter(given, given).size() == 1",
        message=f"give one of {', '.join(names[:-1])} and {names[-1]}",
        holds=lambda members: sum(members.get(each) is not None for each in names) == 1,
    )


def matches(pattern: str, text: str) -> bool:
    """Return True if the text matches an expression as in RE2: `$` is its end, classes are those of ASCII."""
    return _compiled(pattern).search(text) is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\$(?=\)|\Z)", r"\\Z", pattern), re.ASCII)


def _matches(pattern: str) -> str:
    escaped = pattern.replace("\\", "\\\\")
    return f"self.matches('{escaped}')"


@dataclass(frozen=True, slots=True)
class Field:
    """The description of a field for `kubectl explain`, and its bounds. None means no bound.

    Lengths count characters (code points), as the API server does, not bytes. Numbers are whole, and not negative
    unless `minimum` is. `default` is the API server's value for a status without a write. `values` restricts an enum to
    the members that work. In a status, an enum is a text with a pattern, so that a CRD accepts the values of a newer
    operator. `is_required` is for a member with a default here, which the CRD requires. `is_opaque` is for an object of
    a status whose members the CRD does not name. An item of a list has no name, so it needs no description.
    """

    description: str = ""
    _: KW_ONLY
    min_length: int | None = None
    max_length: int | None = None
    pattern: str | None = None
    format: Literal["date-time"] | None = None
    minimum: int = 0
    maximum: int | None = None
    is_required: bool = False
    is_opaque: bool = False
    default: int | None = None
    max_properties: int | None = None
    max_items: int | None = None
    min_items: int | None = None
    list_type: Literal["atomic", "set", "map"] = "atomic"
    list_map_keys: tuple[str, ...] = ()
    values: tuple[Enum, ...] = ()
    rules: tuple[CelRule, ...] = ()


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
