"""The status of a TopicSchema, from the result of its reconcile. Pure.

`status_writer` writes it if it differs.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from topicschema.api.metadata import ConditionStatus, ConditionType
from topicschema.api.topicschemas import (
    EffectiveStrategyStatus,
    IncompatibilityStatus,
    ReportState,
    TopicSchemaStatus,
    VersionStatus,
)
from topicschema.api.validation import ValidationStatus
from topicschema.core.broker_state import BrokerState
from topicschema.core.compatibility import Incompatibility
from topicschema.core.errors import InvalidSchemaError, StalledError, TopicSchemaError
from topicschema.core.history import History, Origin
from topicschema.core.policy import StrategySource
from topicschema.core.reasons import Category, Reason
from topicschema.core.strategies import Strategy
from topicschema.core.verdict import Outcome, Verdict
from topicschema.reconcile.runtime.conditions import (
    FINDING_BYTES,
    ConditionInput,
    ObservedAt,
    describe_error,
    not_ready,
    ready,
    stalled,
    truncate,
)
from topicschema.reconcile.topicschema.observe_broker import VersionGoneError

_VERSIONS = 100
_INCOMPATIBILITIES = 20
_PROGRESS = (ConditionType.READY, ConditionType.RECONCILING, ConditionType.STALLED)
_SUSPENDED = (
    "spec.suspend is true: the operator neither judges nor registers this spec, and validates no messages; Ready has "
    "its former value. Set suspend to false to continue"
)
_CONSUMERS: Final[Mapping[Strategy, str]] = MappingProxyType(
    {
        Strategy.ALWAYS_COMPATIBLE: "not checked at all",
        Strategy.ALWAYS_INCOMPATIBLE: "refused, whatever their schema",
        Strategy.BACKWARD_TRANSITIVE: "checked against every version",
        Strategy.FULL_TRANSITIVE: "checked against every version",
    }
)
"""The checks of consumers by strategy, if they are not against the latest version alone (docs/clients.md)."""
_JUDGED = (ConditionType.COMPATIBLE, ConditionType.REGISTERED, ConditionType.IN_SYNC)


@dataclass(frozen=True, slots=True)
class StatusInput:
    """The result of a reconcile with a verdict: the candidate's fingerprint, the verdict, and the current history.

    `risks` are those of a stored version that the broker accepts and consumers may not be able to read. `broker` is
    None without a broker. `validation` and `validated` report the validation, if there is one. `internal` is
    what is remembered of all validations. `exception` is what the policy's exception for the topic does or did, or "".
    """

    fingerprint: str
    verdict: Verdict
    history: History
    risks: tuple[Incompatibility, ...] = ()
    broker: BrokerState | None = None
    validation: ValidationStatus | None = None
    validated: ConditionInput | None = None
    internal: ReportState | None = None
    exception: str = ""


def with_verdict(
    observed: StatusInput, moment: ObservedAt, stopped: TopicSchemaError | None = None
) -> TopicSchemaStatus:
    """Return the status of a resource with a verdict. A compatible schema is registered, unless `stopped` is set."""
    verdict, history = observed.verdict, observed.history
    latest = history.latest
    strategy = verdict.strategy
    findings = verdict.incompatibilities
    validated = () if observed.validated is None else (observed.validated,)
    conditions = (
        _incompatible(findings, observed.exception)
        if findings
        else (*_compatible_conditions(observed, stopped), *validated)
    )
    return TopicSchemaStatus(
        observed_generation=moment.generation,
        conditions=moment.conditions(conditions),
        incarnation=history.incarnation,
        schema_version=verdict.schema_version if _is_registered(observed) else None,
        latest_schema_version=None if latest is None else latest.schema_version,
        fingerprint=observed.fingerprint,
        effective_strategy=EffectiveStrategyStatus(value=strategy.value, source=strategy.source),
        upgrade_first=strategy.value.upgrade_first,
        version_count=sum(not each.is_tombstone for each in history.entries),
        versions=_versions(history),
        incompatibility_count=len(findings),
        incompatibilities=tuple(map(_finding, findings[:_INCOMPATIBILITIES])),
        validation=observed.validation,
        internal=observed.internal,
    )


def with_error(before: TopicSchemaStatus, error: Exception, moment: ObservedAt) -> TopicSchemaStatus:
    """Return the status of a resource that could not be judged. The fields about the topic stay."""
    reason, message = describe_error(error)
    others = tuple(ConditionInput(kind, _status_without_verdict(kind, reason), reason, message) for kind in _JUDGED)
    after = replace(
        before,
        observed_generation=moment.generation,
        conditions=moment.conditions((*not_ready(error), *others, *_still_validated(before, moment))),
    )
    is_same_spec = before.observed_generation == moment.generation
    after = after if is_same_spec else _without_own_strategy(after)
    if isinstance(error, InvalidSchemaError):
        after = _of_another_spec(after)
        finding = Incompatibility(error.rule, error.place.path, error.message)
        return replace(after, incompatibility_count=1, incompatibilities=(_finding(finding),))
    return after if is_same_spec and not isinstance(error, StalledError) else _of_another_spec(after)


def is_only_unreachable(before: TopicSchemaStatus, error: Exception, generation: int) -> bool:
    """Return True if the error means only that the broker cannot be read, and this generation was Ready before.

    Use it only for a schema that is stored with the broker's number. The state of any other is unknown until it is
    read.
    """
    is_unreadable = isinstance(error, TopicSchemaError) and error.reason.category is Category.BROKER
    return is_unreadable and not isinstance(error, VersionGoneError) and _was_ready(before, generation)


def with_unreachable_broker(before: TopicSchemaStatus, error: Exception, moment: ObservedAt) -> TopicSchemaStatus:
    """Return the status of a resource whose broker cannot be read: unchanged except InSync, which is Unknown."""
    reason, message = describe_error(error)
    return replace(before, conditions=moment.conditions(_unreachable(before, reason, message)))


def suspended(before: TopicSchemaStatus, moment: ObservedAt) -> TopicSchemaStatus:
    """Return the status with the previous value of Ready and the reason Suspended.

    Reconciling and Stalled are removed. The other conditions stay with their generation. An unfinished validation is
    removed.
    """
    readiness = next((each.status for each in before.conditions if each.type is ConditionType.READY), None)
    ready = ConditionInput(ConditionType.READY, readiness or ConditionStatus.UNKNOWN, Reason.SUSPENDED, _SUSPENDED)
    validation, left = before.validation, set(_PROGRESS)
    if validation is not None and not validation.is_final:
        validation, left = None, left | {ConditionType.VALIDATED}
    after = replace(
        before,
        observed_generation=moment.generation,
        conditions=(*moment.conditions((ready,)), *(each for each in before.conditions if each.type not in left)),
        validation=validation,
    )
    return _of_another_spec(_without_own_strategy(after))


def _still_validated(before: TopicSchemaStatus, moment: ObservedAt) -> Iterator[ConditionInput]:
    """Yield the condition Validated of this generation, which is still true."""
    for each in before.conditions:
        if each.type is ConditionType.VALIDATED and each.observed_generation == moment.generation:
            yield ConditionInput(each.type, each.status, each.reason, each.message)


def _status_without_verdict(kind: ConditionType, reason: Reason) -> ConditionStatus:
    """Return the status of a condition if an error prevented the verdict."""
    is_no = reason.category is Category.INVALID or (
        reason is Reason.HISTORY_LOST and kind is not ConditionType.COMPATIBLE
    )
    return ConditionStatus.FALSE if is_no else ConditionStatus.UNKNOWN


def _of_another_spec(status: TopicSchemaStatus) -> TopicSchemaStatus:
    """Return the status without the fields of a judged spec."""
    return replace(status, schema_version=None, fingerprint=None, incompatibility_count=0, incompatibilities=())


def _without_own_strategy(status: TopicSchemaStatus) -> TopicSchemaStatus:
    """Return the status without the strategy of an earlier spec, because the topic's current one is unknown."""
    strategy = status.effective_strategy
    if strategy is None or strategy.source is not StrategySource.TOPIC:
        return status
    return replace(status, effective_strategy=None, upgrade_first=None)


def _was_ready(before: TopicSchemaStatus, generation: int) -> bool:
    """Return True if this generation was Ready."""
    ready_now = next((each for each in before.conditions if each.type is ConditionType.READY), None)
    is_well = ready_now is not None and ready_now.status is ConditionStatus.TRUE
    return is_well and before.observed_generation == generation


def _unreachable(before: TopicSchemaStatus, reason: str, message: str) -> tuple[ConditionInput, ...]:
    conditions = (ConditionInput(each.type, each.status, each.reason, each.message) for each in before.conditions)
    unknown = ConditionInput(ConditionType.IN_SYNC, ConditionStatus.UNKNOWN, reason, message)
    return tuple(unknown if each.type is ConditionType.IN_SYNC else each for each in conditions)


def _compatible_conditions(observed: StatusInput, stopped: TopicSchemaError | None) -> tuple[ConditionInput, ...]:
    if stopped is None:
        return _registered(observed)
    is_registered = _is_registered(observed)
    reason, message = describe_error(stopped)
    where = _version_message(observed) if is_registered else (reason, message)
    return (
        *not_ready(stopped),
        _compatible(observed),
        ConditionInput(ConditionType.REGISTERED, _truth(is_registered), *where),
        ConditionInput(ConditionType.IN_SYNC, ConditionStatus.FALSE, reason, message),
    )


def _registered(observed: StatusInput) -> tuple[ConditionInput, ...]:
    reason, message = _version_message(observed)
    message = "; ".join(
        (message, *(note.message for note in observed.verdict.notes), *_broker_notes(observed.history, observed.broker))
    )
    is_registered = _is_registered(observed)
    registered = ConditionInput(ConditionType.REGISTERED, _truth(is_registered), reason, message)
    observe_only = observed.broker is not None and not observed.broker.may_write
    return (
        *ready(Reason.OBSERVED if observe_only else reason, message),
        _compatible(observed),
        registered,
        _in_sync(observed, registered),
    )


def _version_message(observed: StatusInput) -> tuple[str, str]:
    """Return reason and message about the schema's version and the latest one."""
    number, latest = observed.verdict.schema_version, observed.history.latest
    if observed.verdict.outcome is Outcome.NEXT_VERSION:
        return (
            Reason.OBSERVED,
            f"the schema would be version {number}; nothing is written, because managementPolicy is Observe",
        )
    if _is_lacking(observed):
        return (
            Reason.OBSERVED,
            f"the broker lacks version {number}; nothing is written, because managementPolicy is Observe",
        )
    if latest is None or number == latest.schema_version:
        return Reason.REGISTERED, f"version {number} is registered"
    if _is_foreign(observed):
        return Reason.REGISTERED, f"version {number} is registered; the latest is version {latest.schema_version}"
    return Reason.ROLLED_BACK, _rolled_back(number, latest.schema_version, observed.verdict.strategy.value)


def _broker_notes(history: History, state: BrokerState | None) -> Iterator[str]:
    """Yield notes about the broker. If `state` is None, the policy names no broker any more."""
    if state is None:
        if history.confirmed:
            number = history.confirmed[-1].schema_version
            yield f"a broker had the versions up to {number}; the policy names no broker now, so nothing is compared"
        return
    if state.unmanaged_strategy is not None:
        yield f"the topic has its own strategy at the broker, {state.unmanaged_strategy}, which no field manages"
    deleted = max((each.schema_version for each in history.entries if each.is_tombstone), default=0)
    if deleted:
        yield f"versions before {deleted} were deleted at the broker, which serves them to no client"


def _rolled_back(number: int | None, latest: int, strategy: Strategy) -> str:
    """Return the effect on clients if the schema is an older version again, by strategy (docs/clients.md)."""
    consumers = _CONSUMERS.get(strategy, f"still checked against version {latest}")
    return (
        f"the schema equals version {number}, and Pulsar's latest stays version {latest}: producers with this schema "
        f"write as version {number}, while new consumers are {consumers}"
    )


def _is_registered(observed: StatusInput) -> bool:
    return observed.verdict.outcome is Outcome.EQUAL_VERSION and not _is_lacking(observed)


def _is_lacking(observed: StatusInput) -> bool:
    """Return True if the schema's version is stored and missing at the broker."""
    lacks, number = None if observed.broker is None else observed.broker.first_missing, observed.verdict.schema_version
    return lacks is not None and number is not None and number >= lacks


def _is_foreign(observed: StatusInput) -> bool:
    """Return True if another client registered the broker's latest version."""
    latest, number = observed.history.latest, observed.verdict.schema_version
    is_latest = latest is not None and (latest.schema_version == number or latest.origin is not Origin.BROKER)
    return observed.broker is not None and latest is not None and not is_latest


def _in_sync(observed: StatusInput, registered: ConditionInput) -> ConditionInput:
    """Return InSync: True if the broker has the resource's schema as its latest, as far as Pulsar allows."""
    latest, lacks = observed.history.latest, None if observed.broker is None else observed.broker.first_missing
    if lacks is not None:
        message = f"the broker lacks the versions from {lacks} on, which were registered without it"
        return ConditionInput(ConditionType.IN_SYNC, ConditionStatus.FALSE, Reason.OBSERVED, message)
    if registered.status is ConditionStatus.TRUE and latest is not None and _is_foreign(observed):
        message = (
            f"another client registered the broker's latest version, {latest.schema_version}: put its schema into the "
            "spec, or change the spec's schema, to register it as the next version"
        )
        return ConditionInput(ConditionType.IN_SYNC, ConditionStatus.FALSE, Reason.UNMANAGED_VERSION, message)
    return replace(registered, type=ConditionType.IN_SYNC)


def _compatible(observed: StatusInput) -> ConditionInput:
    strategy = observed.verdict.strategy
    if observed.risks:
        number = observed.verdict.schema_version
        risk = f"version {number} passes, but consumers may fail: {_first(observed.risks)}"
        risk = _joined(risk, observed.exception)
        return ConditionInput(ConditionType.COMPATIBLE, ConditionStatus.TRUE, Reason.CONSUMER_RISK, risk)
    judged = _joined(f"it passes {strategy.value}, set by the {strategy.source.lower()}", observed.exception)
    return ConditionInput(ConditionType.COMPATIBLE, ConditionStatus.TRUE, Reason.COMPATIBLE, judged)


def _joined(message: str, exception: str) -> str:
    return f"{message}; {exception}" if exception else message


def _truth(value: bool) -> ConditionStatus:  # noqa: FBT001 - it converts a bool
    return ConditionStatus.TRUE if value else ConditionStatus.FALSE


def _first(findings: tuple[Incompatibility, ...]) -> str:
    first = findings[0]
    after = "" if first.schema_version is None else f" after version {first.schema_version}"
    message = f"{first.rule} at {first.path}{after}: {first.message}"
    return message if len(findings) == 1 else f"{truncate(message, FINDING_BYTES)} (and {len(findings) - 1} more)"


def _incompatible(findings: tuple[Incompatibility, ...], exception: str) -> tuple[ConditionInput, ...]:
    message = _joined(_first(findings), exception)
    refusals = (ConditionInput(kind, ConditionStatus.FALSE, Reason.INCOMPATIBLE, message) for kind in _JUDGED)
    return (*stalled(Reason.INCOMPATIBLE, message), *refusals)


def _finding(finding: Incompatibility) -> IncompatibilityStatus:
    return IncompatibilityStatus(
        rule=finding.rule,
        path=truncate(finding.path, FINDING_BYTES),
        message=truncate(finding.message, FINDING_BYTES),
        direction=finding.direction,
        schema_version=finding.schema_version,
    )


def _versions(history: History) -> tuple[VersionStatus, ...]:
    return tuple(
        VersionStatus(
            incarnation=history.incarnation,
            schema_version=entry.schema_version,
            type=entry.type,
            fingerprint=entry.fingerprint,
            registered_at=entry.registered_at,
            origin=entry.origin,
        )
        for entry in history.entries[-_VERSIONS:]
        if not entry.is_tombstone
    )
