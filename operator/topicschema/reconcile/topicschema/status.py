"""What a TopicSchema's status says: a pure function from what was seen to the whole status, situation by situation.

Writing it, and only when it differs, is `status_write`'s matter.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from topicschema.api.metadata import ConditionStatus, ConditionType
from topicschema.api.topicschemas import (
    EffectiveStrategyStatus,
    IncompatibilityStatus,
    TopicSchemaStatus,
    VersionStatus,
)
from topicschema.api.validation import ValidationStatus
from topicschema.core.broker_state import BrokerState
from topicschema.core.compatibility import Incompatibility
from topicschema.core.errors import InvalidSchemaError, StalledError, TopicSchemaError
from topicschema.core.history import History, Origin
from topicschema.core.policy import StrategySource
from topicschema.core.verdict import Outcome, Verdict
from topicschema.reconcile.runtime.conditions import (
    CONSUMER_RISK,
    FINDING_BYTES,
    ConditionInput,
    ObservedAt,
    describe_error,
    not_ready,
    ready,
    stalled,
    truncate,
)
from topicschema.reconcile.topicschema.broker_status import broker_notes, rolled_back
from topicschema.reconcile.topicschema.losses import VersionGoneError

_VERSIONS = 100
_INCOMPATIBILITIES = 20
_REFUSED = ("InvalidSchema", "InvalidTopic", "InvalidResource")
_LOST = "HistoryLost"
_UNREACHED = frozenset(
    {
        "BrokerForbidden",
        "BrokerInconsistent",
        "BrokerNotAllowed",
        "BrokerUnauthorized",
        "BrokerUnavailable",
        "BrokerTLSVerificationFailed",
        "NamespaceNotFound",
        "SecretInvalid",
        "SecretNotFound",
        "TenantNotFound",
        "TopicNotFound",
        "UnsupportedSchemaType",
    }
)
"""Reasons for which a broker tells nothing of a topic; what it told before is not untrue for that."""
_OBSERVED = "Observed"
_JUDGED = (ConditionType.COMPATIBLE, ConditionType.REGISTERED, ConditionType.IN_SYNC)


@dataclass(frozen=True, slots=True)
class StatusInput:
    """The result of a reconcile that judged: the candidate's fingerprint, its verdict, and the history as it is now.

    `risks` is what the broker accepts and consumers may suffer from, of a version that is on record. `broker` is None
    if there is none. `validation` and `validated` report the validation, if there is one; `revalidated` is the newest
    request for another that was answered, `report_with_values` the ConfigMap that may show values of messages.
    """

    fingerprint: str
    verdict: Verdict
    history: History
    risks: tuple[Incompatibility, ...] = ()
    broker: BrokerState | None = None
    validation: ValidationStatus | None = None
    validated: ConditionInput | None = None
    revalidated: str | None = None
    report_with_values: str | None = None


def settled(seen: StatusInput, moment: ObservedAt, stopped: TopicSchemaError | None = None) -> TopicSchemaStatus:
    """The status of a resource that was judged and, when it passed, is on record, but for what `stopped` it."""
    verdict, history = seen.verdict, seen.history
    latest = history.latest
    strategy = verdict.strategy
    found = verdict.incompatibilities
    return TopicSchemaStatus(
        observed_generation=moment.generation,
        conditions=moment.conditions(_incompatible(found) if found else (*_passed(seen, stopped), *_validated(seen))),
        incarnation=history.incarnation,
        schema_version=verdict.schema_version if _is_registered(seen) else None,
        latest_schema_version=None if latest is None else latest.schema_version,
        fingerprint=seen.fingerprint,
        effective_strategy=EffectiveStrategyStatus(value=strategy.value, source=strategy.source),
        upgrade_first=strategy.value.upgrade_first,
        version_count=sum(not each.is_tombstone for each in history.entries),
        versions=_versions(history),
        incompatibility_count=len(found),
        incompatibilities=tuple(map(_finding, found[:_INCOMPATIBILITIES])),
        validation=seen.validation,
        revalidated=seen.revalidated,
        report_with_values=seen.report_with_values,
    )


def _validated(seen: StatusInput) -> tuple[ConditionInput, ...]:
    return () if seen.validated is None else (seen.validated,)


def failed(before: TopicSchemaStatus, error: Exception, moment: ObservedAt) -> TopicSchemaStatus:
    """The status of a resource that could not be judged: what it says of the topic stays."""
    reason, message = describe_error(error)
    others = tuple(ConditionInput(kind, _judged(kind, reason), reason, message) for kind in _JUDGED)
    after = replace(
        before,
        observed_generation=moment.generation,
        conditions=moment.conditions((*not_ready(error), *others, *_still_validated(before, moment))),
    )
    is_same_spec = before.observed_generation == moment.generation
    after = after if is_same_spec else without_own_strategy(after)
    if isinstance(error, InvalidSchemaError):
        after = of_another_spec(after)
        finding = Incompatibility(error.rule, error.place.path, error.message)
        return replace(after, incompatibility_count=1, incompatibilities=(_finding(finding),))
    return after if is_same_spec and not isinstance(error, StalledError) else of_another_spec(after)


def is_out_of_sight(before: TopicSchemaStatus, error: Exception, generation: int) -> bool:
    """Whether the error means no more than that a broker could not be looked at, and this generation was Ready before.

    Only for a schema that is on record as the broker's: of any other nothing is known until the broker shows it.
    """
    reason, _ = describe_error(error)
    return reason in _UNREACHED and not isinstance(error, VersionGoneError) and _was_ready(before, generation)


def out_of_sight(before: TopicSchemaStatus, error: Exception, moment: ObservedAt) -> TopicSchemaStatus:
    """The status of a resource whose broker could not be looked at: as it was, but for InSync."""
    reason, message = describe_error(error)
    return replace(before, conditions=moment.conditions(_unseen(before, reason, message)))


def _still_validated(before: TopicSchemaStatus, moment: ObservedAt) -> Iterator[ConditionInput]:
    """What messages had to say of this very generation is as true as it was."""
    for each in before.conditions:
        if each.type is ConditionType.VALIDATED and each.observed_generation == moment.generation:
            yield ConditionInput(each.type, each.status, each.reason, each.message)


def _judged(kind: ConditionType, reason: str) -> ConditionStatus:
    """What is to be said of the spec where an error kept it from being judged."""
    is_no = reason in _REFUSED or (reason == _LOST and kind is not ConditionType.COMPATIBLE)
    return ConditionStatus.FALSE if is_no else ConditionStatus.UNKNOWN


def of_another_spec(status: TopicSchemaStatus) -> TopicSchemaStatus:
    """Return the status without what it says of a spec that was judged."""
    return replace(status, schema_version=None, fingerprint=None, incompatibility_count=0, incompatibilities=())


def without_own_strategy(status: TopicSchemaStatus) -> TopicSchemaStatus:
    """Return the status without what an earlier spec demanded: whether the topic has or keeps that was not seen."""
    strategy = status.effective_strategy
    if strategy is None or strategy.source is not StrategySource.TOPIC:
        return status
    return replace(status, effective_strategy=None, upgrade_first=None)


def _was_ready(before: TopicSchemaStatus, generation: int) -> bool:
    """Whether this very generation was settled: what then goes away is the sight of it."""
    ready_now = next((each for each in before.conditions if each.type is ConditionType.READY), None)
    is_well = ready_now is not None and ready_now.status is ConditionStatus.TRUE
    return is_well and before.observed_generation == generation


def _unseen(before: TopicSchemaStatus, reason: str, message: str) -> tuple[ConditionInput, ...]:
    kept = (ConditionInput(each.type, each.status, each.reason, each.message) for each in before.conditions)
    unknown = ConditionInput(ConditionType.IN_SYNC, ConditionStatus.UNKNOWN, reason, message)
    return tuple(unknown if each.type is ConditionType.IN_SYNC else each for each in kept)


def _passed(seen: StatusInput, stopped: TopicSchemaError | None) -> tuple[ConditionInput, ...]:
    if stopped is None:
        return _registered(seen)
    is_registered = _is_registered(seen)
    reason, message = describe_error(stopped)
    where = _placed(seen) if is_registered else (reason, message)
    return (
        *not_ready(stopped),
        _compatible(seen),
        ConditionInput(ConditionType.REGISTERED, _truth(is_registered), *where),
        ConditionInput(ConditionType.IN_SYNC, ConditionStatus.FALSE, reason, message),
    )


def _registered(seen: StatusInput) -> tuple[ConditionInput, ...]:
    reason, message = _placed(seen)
    message = "; ".join(
        (message, *(note.message for note in seen.verdict.notes), *broker_notes(seen.history, seen.broker))
    )
    is_registered = _is_registered(seen)
    registered = ConditionInput(ConditionType.REGISTERED, _truth(is_registered), reason, message)
    observe_only = seen.broker is not None and not seen.broker.may_write
    return (
        *ready(_OBSERVED if observe_only else reason, message),
        _compatible(seen),
        registered,
        _in_sync(seen, registered),
    )


def _placed(seen: StatusInput) -> tuple[str, str]:
    """Where the schema stands among the versions: reason and message."""
    number, latest = seen.verdict.schema_version, seen.history.latest
    if seen.verdict.outcome is Outcome.NEXT_VERSION:
        return _OBSERVED, f"the schema would be version {number}; nothing is written where managementPolicy is Observe"
    if _is_lacking(seen):
        return _OBSERVED, f"the broker lacks version {number}; nothing is written where managementPolicy is Observe"
    if latest is None or number == latest.schema_version:
        return "Registered", f"version {number} is registered"
    if _is_foreign(seen):
        return "Registered", f"version {number} is registered; the latest is version {latest.schema_version}"
    return "RolledBack", rolled_back(number, latest.schema_version, seen.verdict.strategy.value)


def _is_registered(seen: StatusInput) -> bool:
    return seen.verdict.outcome is Outcome.EQUAL_VERSION and not _is_lacking(seen)


def _is_lacking(seen: StatusInput) -> bool:
    """Whether the version that the schema equals is on record and not at the broker."""
    lacks, number = None if seen.broker is None else seen.broker.first_missing, seen.verdict.schema_version
    return lacks is not None and number is not None and number >= lacks


def _is_foreign(seen: StatusInput) -> bool:
    """Whether the broker's latest is a version that did not come from here."""
    latest, number = seen.history.latest, seen.verdict.schema_version
    is_latest = latest is not None and (latest.schema_version == number or latest.origin is not Origin.BROKER)
    return seen.broker is not None and latest is not None and not is_latest


def _in_sync(seen: StatusInput, registered: ConditionInput) -> ConditionInput:
    """Whether the broker has what the resource wants as its latest, as far as Pulsar allows."""
    latest, lacks = seen.history.latest, None if seen.broker is None else seen.broker.first_missing
    if lacks is not None:
        message = f"the broker lacks what was registered without it, from version {lacks} on"
        return ConditionInput(ConditionType.IN_SYNC, ConditionStatus.FALSE, _OBSERVED, message)
    if registered.status is ConditionStatus.TRUE and latest is not None and _is_foreign(seen):
        message = (
            f"the broker's latest is version {latest.schema_version}, which was not registered from this resource: put "
            "its schema into the spec, or register an edit of this one after it"
        )
        return ConditionInput(ConditionType.IN_SYNC, ConditionStatus.FALSE, "UnmanagedVersion", message)
    return replace(registered, type=ConditionType.IN_SYNC)


def _compatible(seen: StatusInput) -> ConditionInput:
    strategy = seen.verdict.strategy
    if seen.risks:
        number = seen.verdict.schema_version
        risk = f"version {number} passes, but consumers may suffer: {_first(seen.risks)}"
        return ConditionInput(ConditionType.COMPATIBLE, ConditionStatus.TRUE, CONSUMER_RISK, risk)
    judged = f"it passes {strategy.value}, set by the {strategy.source.lower()}"
    return ConditionInput(ConditionType.COMPATIBLE, ConditionStatus.TRUE, "Compatible", judged)


def _truth(value: bool) -> ConditionStatus:  # noqa: FBT001 - that is what it is about
    return ConditionStatus.TRUE if value else ConditionStatus.FALSE


def _first(found: tuple[Incompatibility, ...]) -> str:
    first = found[0]
    after = "" if first.schema_version is None else f" after version {first.schema_version}"
    message = f"{first.rule} at {first.path}{after}: {first.message}"
    return message if len(found) == 1 else f"{truncate(message, FINDING_BYTES)} (and {len(found) - 1} more)"


def _incompatible(found: tuple[Incompatibility, ...]) -> tuple[ConditionInput, ...]:
    message = _first(found)
    refusals = (ConditionInput(kind, ConditionStatus.FALSE, "Incompatible", message) for kind in _JUDGED)
    return (*stalled("Incompatible", message), *refusals)


def _finding(found: Incompatibility) -> IncompatibilityStatus:
    return IncompatibilityStatus(
        rule=found.rule,
        path=truncate(found.path, FINDING_BYTES),
        message=truncate(found.message, FINDING_BYTES),
        direction=found.direction,
        schema_version=found.schema_version,
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
