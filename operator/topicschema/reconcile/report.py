"""What a TopicSchema's status says: a pure function from what was seen to the whole status, situation by situation.

Writing it, and only when it differs, is `status_write`'s matter.
"""

from dataclasses import dataclass, replace

from topicschema.api.metadata import ConditionStatus, ConditionType
from topicschema.api.topicschemas import (
    EffectiveStrategyStatus,
    IncompatibilityStatus,
    TopicSchemaStatus,
    VersionStatus,
)
from topicschema.core.compatibility import Incompatibility
from topicschema.core.errors import InvalidSchemaError, StalledError
from topicschema.core.history import History
from topicschema.core.verdict import Verdict
from topicschema.reconcile.conditions import FINDING_BYTES, Moment, Said, capped, not_ready, ready, stalled, told

_VERSIONS = 100
_INCOMPATIBILITIES = 20
_REFUSED = ("InvalidSchema", "InvalidTopic", "InvalidResource")
_LOST = "HistoryLost"
CONSUMER_RISK = "ConsumerRisk"
"""The reason of Compatible where the broker agrees and consumers may suffer."""
_JUDGED = (ConditionType.COMPATIBLE, ConditionType.REGISTERED, ConditionType.IN_SYNC)


@dataclass(frozen=True, slots=True)
class Seen:
    """What a pass that judged came to: the candidate's fingerprint, the verdict on it, and the history as it is now.

    `risks` is what the broker lets pass and consumers may suffer from, of a version that is on record.
    """

    fingerprint: str
    verdict: Verdict
    history: History
    risks: tuple[Incompatibility, ...] = ()


def settled(seen: Seen, moment: Moment) -> TopicSchemaStatus:
    """The status of a resource that was judged and, when it passed, is on record."""
    verdict, history = seen.verdict, seen.history
    latest = history.latest
    strategy = verdict.strategy
    found = verdict.incompatibilities
    return TopicSchemaStatus(
        observed_generation=moment.generation,
        conditions=moment.conditions(_registered(seen) if verdict.is_compatible else _incompatible(found)),
        incarnation=history.incarnation,
        schema_version=verdict.schema_version if verdict.is_compatible else None,
        latest_schema_version=None if latest is None else latest.schema_version,
        fingerprint=seen.fingerprint,
        effective_strategy=EffectiveStrategyStatus(value=strategy.value, source=strategy.source),
        upgrade_first=strategy.value.upgrade_first,
        version_count=len(history.entries),
        versions=_versions(history),
        incompatibility_count=len(found),
        incompatibilities=tuple(map(_finding, found[:_INCOMPATIBILITIES])),
    )


def failed(before: TopicSchemaStatus, error: Exception, moment: Moment) -> TopicSchemaStatus:
    """The status of a resource that could not be judged: what it says of the topic stays."""
    reason, message = told(error)
    others = tuple(Said(kind, _judged(kind, reason), reason, message) for kind in _JUDGED)
    after = replace(
        before,
        observed_generation=moment.generation,
        conditions=moment.conditions((*not_ready(error), *others)),
    )
    if isinstance(error, InvalidSchemaError):
        after = _of_another_spec(after)
        finding = Incompatibility(error.rule, error.place.path, error.message)
        return replace(after, incompatibility_count=1, incompatibilities=(_finding(finding),))
    is_same_spec = before.observed_generation == moment.generation
    return after if is_same_spec and not isinstance(error, StalledError) else _of_another_spec(after)


def _judged(kind: ConditionType, reason: str) -> ConditionStatus:
    """What is to be said of the spec where an error kept it from being judged."""
    is_no = reason in _REFUSED or (reason == _LOST and kind is not ConditionType.COMPATIBLE)
    return ConditionStatus.FALSE if is_no else ConditionStatus.UNKNOWN


def _of_another_spec(status: TopicSchemaStatus) -> TopicSchemaStatus:
    return replace(status, schema_version=None, fingerprint=None, incompatibility_count=0, incompatibilities=())


def _registered(seen: Seen) -> tuple[Said, ...]:
    number, latest = seen.verdict.schema_version, seen.history.latest
    if latest is not None and number == latest.schema_version:
        reason, message = "Registered", f"version {number} is registered"
    else:
        reason = "RolledBack"
        latest_number = None if latest is None else latest.schema_version
        message = (
            f"the schema is version {number} again; the latest stays version {latest_number}, as Pulsar keeps the "
            "number of an equal schema and does not move its latest"
        )
    message = "; ".join((message, *(note.message for note in seen.verdict.notes)))
    agreed = (Said(kind, ConditionStatus.TRUE, reason, message) for kind in _JUDGED[1:])
    strategy = seen.verdict.strategy
    judged = f"it passes {strategy.value}, set by the {strategy.source.lower()}"
    compatible = Said(_JUDGED[0], ConditionStatus.TRUE, "Compatible", judged)
    if seen.risks:
        risk = f"version {number} passes, but consumers may suffer: {_first(seen.risks)}"
        compatible = Said(_JUDGED[0], ConditionStatus.TRUE, CONSUMER_RISK, risk)
    return (*ready(reason, message), compatible, *agreed)


def _first(found: tuple[Incompatibility, ...]) -> str:
    first = found[0]
    after = "" if first.schema_version is None else f" after version {first.schema_version}"
    message = f"{first.rule} at {first.path}{after}: {first.message}"
    return message if len(found) == 1 else f"{capped(message, FINDING_BYTES)} (and {len(found) - 1} more)"


def _incompatible(found: tuple[Incompatibility, ...]) -> tuple[Said, ...]:
    message = _first(found)
    refusals = (Said(kind, ConditionStatus.FALSE, "Incompatible", message) for kind in _JUDGED)
    return (*stalled("Incompatible", message), *refusals)


def _finding(found: Incompatibility) -> IncompatibilityStatus:
    return IncompatibilityStatus(
        rule=found.rule,
        path=capped(found.path, FINDING_BYTES),
        message=capped(found.message, FINDING_BYTES),
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
