"""Messages for the user of a refused edit: each finding as one sentence that stands alone.

A sentence names the rule, the place, the fault, the strategy and its source, the version, the reader, and the remedy.
See `core` for the rules.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from topicschema.admission.review import Cause
from topicschema.api.policies import NamespaceSchemaPolicy
from topicschema.api.topicschemas import TopicSchemaSpec
from topicschema.core.compatibility import Incompatibility
from topicschema.core.errors import InvalidSchemaError, StalledError
from topicschema.core.policy import EffectiveStrategy, StrategySource
from topicschema.core.strategies import Direction, Strategy
from topicschema.core.verdict import Verdict
from topicschema.judging.schema_source import field_of, with_spec_field

TOPIC_FIELD = "spec.topic"
TYPE_FIELD = "spec.type"

_OTHER_TYPE = "a type cannot change: keep it, or take another topic"
_HISTORY_RULE = "INVALID_HISTORY"
_RISKS = 10
_CONTACT = "ask the team that owns the policy"
_ADVICE: Mapping[str, str] = MappingProxyType(
    {
        "TYPE_MISMATCH": "keep the earlier type, or put the new one into a field of another name with a default",
        "FIXED_SIZE": "keep the size, or put the new one into a field of another name with a default",
        "NO_UNION_BRANCH": "keep that branch in the union",
        "UNION_BRANCH_UNREADABLE": "keep a union that has that branch",
        "TYPE_CHANGED": _OTHER_TYPE,
        "ALWAYS_INCOMPATIBLE": f"no edit passes; {_CONTACT}",
        "TYPE_NOT_ALLOWED": _CONTACT,
        "STRATEGY_NOT_ALLOWED": f"remove it, or {_CONTACT}",
        "SCHEMA_TOO_LARGE": f"make it smaller, or {_CONTACT}",
        "PROPERTY_MISSING": "add it",
    }
)
_ADVICE_TO_WRITERS: Mapping[str, str] = MappingProxyType(
    {
        "NO_UNION_BRANCH": "use only types that this union has",
        "UNION_BRANCH_UNREADABLE": "leave that branch out of the union",
    }
)
"""Advice if an earlier version reads messages of the candidate, where it differs."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The verdict on a spec under a policy."""

    spec: TopicSchemaSpec
    verdict: Verdict
    policy: NamespaceSchemaPolicy

    @property
    def strategy(self) -> EffectiveStrategy:
        """The strategy of the verdict."""
        return self.verdict.strategy


def cause_of(finding: Incompatibility, decision: Decision) -> Cause:
    """Return the cause for one incompatibility."""
    strategy, policy = decision.strategy, decision.policy.metadata.name
    if finding.path.startswith("spec."):
        field = with_spec_field(finding, decision.spec).path
        return Cause(field, f"{finding.rule}: {finding.message} (policy {policy}){_advice(finding.rule)}")
    if finding.rule == _HISTORY_RULE:
        return Cause(TOPIC_FIELD, f"{finding.rule}: {finding.message}")
    demand = f"{strategy.value} ({_set_by(decision)}) {_demand(finding)}"
    if finding in decision.verdict.strict_only:
        demand = f"Policy {policy} is Strict: the broker would take it, but {_harm(finding)}"
    text = f"{finding.message}. {demand}{_advice(finding.rule, finding.direction)}"
    if finding.rule == "TYPE_CHANGED":
        return Cause(TYPE_FIELD, f"{finding.rule}: {text}")
    return Cause(field_of(decision.spec, finding.path), f"{finding.rule} at {finding.path}: {text}")


def invalid_schema(error: InvalidSchemaError, spec: TopicSchemaSpec) -> Cause:
    """Return the cause for a text that is no schema of its type."""
    if error.rule == "UNSUPPORTED_TYPE" and error.place.path == "$":
        return Cause(TYPE_FIELD, f"{error.rule}: {error.message}")
    return Cause(field_of(spec, error.place.path), error.sentence)


def stalled(error: StalledError, field: str) -> Cause:
    """Return the cause for any other error that the user must fix."""
    return Cause(field, f"{error.reason}: {error.message}")


def invalid_resource(error: StalledError) -> Cause:
    """Return the cause for an object that is invalid for its kind. The message begins with the field."""
    field, colon, why = error.message.partition(": ")
    return Cause(field, f"{error.reason}: {why}") if colon else Cause("spec", f"{error.reason}: {error.message}")


def risks_of(risks: tuple[Incompatibility, ...]) -> Iterator[str]:
    """Yield a warning for each change that the broker accepts and that harms consumers."""
    for risk in risks[:_RISKS]:
        after = "" if risk.schema_version is None else f" after version {risk.schema_version}"
        yield f"ConsumerRisk: {risk.rule} at {risk.path}{after}: {risk.message}"
    if len(risks) > _RISKS:
        yield f"ConsumerRisk: and {len(risks) - _RISKS} more; topicschema check lists all"


def notice_of(decision: Decision) -> tuple[str, ...]:
    """Return a warning if the strategy checks nothing, or accepts no further schema."""
    if decision.strategy.value is Strategy.ALWAYS_COMPATIBLE:
        return (f"nothing was checked: the strategy is ALWAYS_COMPATIBLE ({_set_by(decision)})",)
    if decision.strategy.value is Strategy.ALWAYS_INCOMPATIBLE:
        return (f"no other schema can follow: the strategy is ALWAYS_INCOMPATIBLE ({_set_by(decision)})",)
    return ()


def _set_by(decision: Decision) -> str:
    spec, name = decision.policy.spec, decision.policy.metadata.name
    if decision.strategy.source is StrategySource.TOPIC:
        is_ours = decision.spec.schema_compatibility_strategy is not None
        return "set by spec.schemaCompatibilityStrategy" if is_ours else "the topic's own at the broker"
    if decision.strategy.source is StrategySource.NAMESPACE:
        is_ours = spec.schema_compatibility_strategy is decision.strategy.value
        return f"set by policy {name}" if is_ours else "the Pulsar namespace's own at the broker"
    observed = decision.policy.observed
    is_observed = observed is not None and observed.broker is not None and observed.broker.schema_compatibility_strategy
    return "the broker's own" if is_observed else f"the broker's own, by policy {name}"


def _demand(finding: Incompatibility) -> str:
    earlier = _earlier(finding)
    if finding.direction is Direction.BACKWARD:
        return f"demands that consumers with this schema read messages of {earlier}"
    if finding.direction is Direction.FORWARD:
        return f"demands that consumers with {earlier} read messages of this schema"
    return f"does not let this schema follow {earlier}"


def _harm(finding: Incompatibility) -> str:
    earlier = _earlier(finding)
    if finding.direction is Direction.BACKWARD:
        return f"consumers with this schema would lose or misread messages of {earlier}"
    if finding.direction is Direction.FORWARD:
        return f"consumers with {earlier} would lose or misread messages of this schema"
    return f"consumers would suffer from this schema after {earlier}"


def _earlier(finding: Incompatibility) -> str:
    return "the edit before it" if finding.schema_version is None else f"version {finding.schema_version}"


def _advice(rule: str, direction: Direction | None = None) -> str:
    to_writers = _ADVICE_TO_WRITERS.get(rule) if direction is Direction.FORWARD else None
    advice = to_writers or _ADVICE.get(rule)
    return f"; {advice}" if advice else ""
