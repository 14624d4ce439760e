"""Conditions in one line."""

from collections.abc import Sequence

from topicschema.api.metadata import Condition, ConditionStatus
from topicschema.reconcile.runtime.conditions import ConditionInput

_SIGNS = {ConditionStatus.TRUE: "+", ConditionStatus.FALSE: "-", ConditionStatus.UNKNOWN: "?"}


def summary(conditions: Sequence[Condition | ConditionInput]) -> str:
    """Return the first one's reason, and each condition with its reason if that differs: +True, -False, ?Unknown."""
    main = conditions[0].reason
    rest = (_SIGNS[c.status] + c.type + ("" if c.reason == main else f"/{c.reason}") for c in conditions)
    return f"{main}: {' '.join(rest)}"
