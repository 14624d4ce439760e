"""Messages for the user of a refused edit: each mistake as one sentence that stands alone.

A sentence names the rule, the place, the fault, the strategy and its source, the versions, the reader, and the remedy.
See `core` for the rules.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from topicschema.admission.review import Cause
from topicschema.api.policies import NamespaceSchemaPolicy
from topicschema.api.topicschemas import TopicSchemaSpec
from topicschema.core.compatibility import Incompatibility
from topicschema.core.errors import InvalidSchemaError, StalledError
from topicschema.core.mistakes import Mistake, mistakes_of, versions_in_words
from topicschema.core.policy import EffectiveStrategy, StrategySource, exception_note
from topicschema.core.strategies import Direction, Strategy
from topicschema.core.verdict import Verdict
from topicschema.judging.policies import ActivePolicy
from topicschema.judging.schema_source import field_of, with_spec_field

TOPIC_FIELD = "spec.topic"
TYPE_FIELD = "spec.type"

_HISTORY_RULE = "INVALID_HISTORY"
_RISKS = 10


@dataclass(frozen=True, slots=True)
class Decision:
    """The verdict on a spec under a policy."""

    spec: TopicSchemaSpec
    verdict: Verdict
    active: ActivePolicy

    @property
    def policy(self) -> NamespaceSchemaPolicy:
        """The policy's resource."""
        return self.active.resource

    @property
    def exception(self) -> str:
        """Effect of an exception on the topic, or ""."""
        is_refused = not self.verdict.is_compatible
        return exception_note(self.active.policy, self.spec.schema_compatibility_strategy, is_refused=is_refused)

    @property
    def strategy(self) -> EffectiveStrategy:
        """The strategy of the verdict."""
        return self.verdict.strategy


def causes_of(decision: Decision) -> Iterator[Cause]:
    """Yield the cause for each mistake."""
    for each in mistakes_of(decision.verdict.incompatibilities):
        yield _cause_of(each, decision)


def _cause_of(mistake: Mistake, decision: Decision) -> Cause:
    finding, policy = mistake.newest, decision.policy.metadata.name
    remedy = f"; {mistake.remedy}" if mistake.remedy else ""
    if finding.path.startswith("spec."):
        field = with_spec_field(finding, decision.spec).path
        return Cause(field, f"{finding.rule}: {finding.message} (policy {policy}){remedy}")
    if finding.rule == _HISTORY_RULE:
        return Cause(TOPIC_FIELD, f"{finding.rule}: {finding.message}")
    demand = f"{decision.strategy.value} ({_set_by(decision)}) {_demand(mistake)}"
    demand = "; ".join(filter(None, (demand, decision.exception)))
    if finding in decision.verdict.strict_only:
        demand = f"Policy {policy} is Strict: the broker would take it, but {_harm(mistake)}"
    text = f"{finding.message}. {demand}{remedy}"
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
    """Yield a warning for each mistake that the broker accepts and that harms consumers."""
    mistakes = mistakes_of(risks)
    for each in mistakes[:_RISKS]:
        after = f" after {versions_in_words(each.registered)}" if each.registered else ""
        yield f"ConsumerRisk: {each.newest.rule} at {each.newest.path}{after}: {each.newest.message}"
    if len(mistakes) > _RISKS:
        yield f"ConsumerRisk: and {len(mistakes) - _RISKS} more; topicschema check lists all"


def notice_of(decision: Decision) -> tuple[str, ...]:
    """Return a warning of an exception in use, and one if the strategy checks nothing, or accepts no further schema."""
    return (*filter(None, (decision.exception,)), *_notice_of_strategy(decision))


def _notice_of_strategy(decision: Decision) -> tuple[str, ...]:
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


def _demand(mistake: Mistake) -> str:
    direction, earlier = mistake.newest.direction, _earlier(mistake)
    if direction is Direction.BACKWARD:
        return f"demands that consumers with this schema read messages of {earlier}"
    if direction is Direction.FORWARD:
        return f"demands that consumers with {earlier} read messages of this schema"
    return f"does not let this schema follow {earlier}"


def _harm(mistake: Mistake) -> str:
    direction, earlier = mistake.newest.direction, _earlier(mistake)
    if direction is Direction.BACKWARD:
        return f"consumers with this schema would lose or misread messages of {earlier}"
    if direction is Direction.FORWARD:
        return f"consumers with {earlier} would lose or misread messages of this schema"
    return f"consumers would suffer from this schema after {earlier}"


def _earlier(mistake: Mistake) -> str:
    names = [versions_in_words(mistake.registered)] if mistake.registered else []
    return " and ".join((*names, "the edit before it") if None in mistake.versions else names)
