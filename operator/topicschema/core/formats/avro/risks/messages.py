"""Messages of the risks of reading Avro: the effect, and the remedy."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from topicschema.core.formats.avro.model import Enum, Field, Named, Node, Primitive
from topicschema.core.formats.avro.names import shown
from topicschema.core.formats.avro.risks.logical import Logical, logical
from topicschema.core.formats.format import Mismatch


class RiskRule(StrEnum):
    """The risks, by the IDs in docs/rules.md."""

    ENUM_SYMBOL_UNKNOWN = "ENUM_SYMBOL_UNKNOWN"
    ENUM_SYMBOL_REPLACED = "ENUM_SYMBOL_REPLACED"
    RECORD_RENAMED = "RECORD_RENAMED"
    UNION_BRANCH_BY_STRUCTURE = "UNION_BRANCH_BY_STRUCTURE"
    CLASS_RENAMED = "CLASS_RENAMED"
    LOGICAL_TYPE_CHANGED = "LOGICAL_TYPE_CHANGED"
    LOGICAL_TYPE_ONE_SIDED = "LOGICAL_TYPE_ONE_SIDED"
    DECIMAL_SCALE_CHANGED = "DECIMAL_SCALE_CHANGED"
    DECIMAL_PRECISION_REDUCED = "DECIMAL_PRECISION_REDUCED"
    NUMBER_ROUNDED = "NUMBER_ROUNDED"
    BYTES_AS_TEXT = "BYTES_AS_TEXT"
    ALIAS_IN_JSON = "ALIAS_IN_JSON"


_MUTUAL: Final = frozenset(
    {
        RiskRule.CLASS_RENAMED,
        RiskRule.LOGICAL_TYPE_CHANGED,
        RiskRule.LOGICAL_TYPE_ONE_SIDED,
        RiskRule.DECIMAL_SCALE_CHANGED,
    }
)
_SHOWN: Final = 8


@dataclass(frozen=True, slots=True)
class Risk:
    """A risk, its place in both schemas, and the reader's field that contains it."""

    rule: RiskRule
    reader: Node | Field
    writer: Node | Field
    within: Field | None = None
    is_json: bool = False


def mismatch(risk: Risk) -> Mismatch:
    """Return the mismatch. Its message names `{reader}` and `{writer}`; the caller knows which is the candidate."""
    where = "" if risk.within is None else f"field {shown(risk.within.name)}: "
    message = where + _MESSAGES[risk.rule](risk)
    return Mismatch(risk.rule.value, message, risk.reader.path, risk.writer.path, risk.rule in _MUTUAL)


def _symbols(risk: Risk) -> str:
    known = set(risk.reader.symbols) if isinstance(risk.reader, Enum) else set()
    unknown = [each for each in risk.writer.symbols if each not in known] if isinstance(risk.writer, Enum) else []
    more = len(unknown) - _SHOWN
    listed = ", ".join(map(shown, unknown[:_SHOWN])) + (f" and {more} more" if more > 0 else "")
    return f"enum {_name(risk.reader)} of {{reader}} lacks {listed} of {{writer}}"


def _symbol_unknown(risk: Risk) -> str:
    advice = "keep the symbols; a default does not help in JSON" if risk.is_json else "keep them, or give it a default"
    return f"{_symbols(risk)}, and fails on each message with one; {advice}"


def _symbol_replaced(risk: Risk) -> str:
    default = shown(risk.reader.default or "") if isinstance(risk.reader, Enum) else ""
    return f"{_symbols(risk)}, and reads them as {default}, its default; keep those that differ in meaning"


def _record_renamed(risk: Risk) -> str:
    return (
        f"record {_name(risk.writer)} of {{writer}} is {_name(risk.reader)} in {{reader}}: Java's clients read it, "
        "others refuse every message; keep the name, or give {reader} the old one as an alias"
    )


def _branch_guessed(risk: Risk) -> str:
    return (
        f"record {_name(risk.writer)} of {{writer}} is read as {_name(risk.reader)} of {{reader}}, the branch of the "
        "union whose fields happen to fit; keep the name, or give {reader} the old one as an alias"
    )


def _class_renamed(risk: Risk) -> str:
    return (
        f"{_name(risk.writer)} of {{writer}} is {_name(risk.reader)} in {{reader}}: messages are read, generated code "
        "changes; keep the full name, or give {reader} the old one as an alias"
    )


def _logical_changed(risk: Risk) -> str:
    return (
        f"{{writer}} has {_logical(risk.writer)} where {{reader}} has {_logical(risk.reader)}: the same number is "
        "taken for another value; keep the logical type, or add a field under another name"
    )


def _logical_one_sided(risk: Risk) -> str:
    return (
        f"{{writer}} has {_logical(risk.writer)} where {{reader}} has {_logical(risk.reader)}: the bytes are the same, "
        "the values in code and in JSON are not; keep the logical type, or add a field under another name"
    )


def _scale_changed(risk: Risk) -> str:
    written, read = _decimals(risk)
    return (
        f"decimals have {written.scale} digits after the point in {{writer}} and {read.scale} in {{reader}}, so every "
        "value is read with the point in the wrong place; keep the scale, or add a field under another name"
    )


def _precision_reduced(risk: Risk) -> str:
    written, read = _decimals(risk)
    return (
        f"decimals have up to {written.precision} digits in {{writer}} and {read.precision} in {{reader}}, which "
        "cannot hold the longer ones; keep the precision"
    )


def _decimals(risk: Risk) -> tuple[Logical, Logical]:
    none = Logical("")
    return _logical_of(risk.writer) or none, _logical_of(risk.reader) or none


def _rounded(risk: Risk) -> str:
    read = _kind(risk.reader)
    digits = "2^24" if read == "float" else "2^53"
    return (
        f"{{writer}} has {_kind(risk.writer)} where {{reader}} has {read}, which rounds integers above {digits}; keep "
        "the type, or add a field under another name"
    )


def _bytes_as_text(risk: Risk) -> str:
    loss = "JSON has bytes in base64, and texts as they are" if risk.is_json else "what is not UTF-8 is lost"
    return (
        f"{{writer}} has {_kind(risk.writer)} where {{reader}} has {_kind(risk.reader)}: {loss}; keep the type, or add "
        "a field under another name"
    )


def _alias_in_json(risk: Risk) -> str:
    return (
        f"field {_name(risk.reader)} of {{reader}} is {_name(risk.writer)} in {{writer}}, by an alias; JSON messages "
        "have no aliases, so nothing is read; keep the name"
    )


def _name(place: Node | Field) -> str:
    return shown(place.name if isinstance(place, Field) else place.full_name if isinstance(place, Named) else "?")


def _kind(place: Node | Field) -> str:
    return place.kind if isinstance(place, Primitive) else "?"


def _logical_of(place: Node | Field) -> Logical | None:
    return None if isinstance(place, Field) else logical(place)


def _logical(place: Node | Field) -> str:
    own = _logical_of(place)
    return "no logical type" if own is None else shown(own.name)


_MESSAGES: Final[Mapping[RiskRule, Callable[[Risk], str]]] = MappingProxyType(
    {
        RiskRule.ENUM_SYMBOL_UNKNOWN: _symbol_unknown,
        RiskRule.ENUM_SYMBOL_REPLACED: _symbol_replaced,
        RiskRule.RECORD_RENAMED: _record_renamed,
        RiskRule.UNION_BRANCH_BY_STRUCTURE: _branch_guessed,
        RiskRule.CLASS_RENAMED: _class_renamed,
        RiskRule.LOGICAL_TYPE_CHANGED: _logical_changed,
        RiskRule.LOGICAL_TYPE_ONE_SIDED: _logical_one_sided,
        RiskRule.DECIMAL_SCALE_CHANGED: _scale_changed,
        RiskRule.DECIMAL_PRECISION_REDUCED: _precision_reduced,
        RiskRule.NUMBER_ROUNDED: _rounded,
        RiskRule.BYTES_AS_TEXT: _bytes_as_text,
        RiskRule.ALIAS_IN_JSON: _alias_in_json,
    }
)
