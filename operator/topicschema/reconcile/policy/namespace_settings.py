"""Comparison of a policy's settings with those of its Pulsar namespace at the broker. Pure.

A field that the policy omits is not managed: the broker's value stays, and the status reports it. `observe`
reads the settings, `act` writes them.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, Final

from topicschema.api.brokers import ObservedBroker, ObservedSettings
from topicschema.api.policies import NamespaceSchemaPolicy
from topicschema.core import releases
from topicschema.core.remote import BrokerSettings, NamespaceSettings, Setting
from topicschema.core.strategies import Strategy

_ATTRIBUTES: Final = {
    Setting.STRATEGY: "strategy",
    Setting.AUTO_UPDATE: "allows_auto_update",
    Setting.REPLICATORS: "allows_replicators",
    Setting.ENFORCEMENT: "enforces_validation",
}
_LISTED: Final = 20
_LONGEST: Final = 256


@dataclass(frozen=True, slots=True)
class StoredSettings:
    """The record in the claim: the managed settings, and their values before the operator first wrote them."""

    original: NamespaceSettings
    managed: tuple[Setting, ...]


def desired_settings(resource: NamespaceSchemaPolicy) -> NamespaceSettings:
    """Return the settings of the policy. An omitted one is None, and one that the broker does not have."""
    spec, has_replicators = resource.spec, releases.lets_replicators_register(resource.release)
    return NamespaceSettings(
        strategy=spec.schema_compatibility_strategy,
        allows_auto_update=spec.is_allow_auto_update_schema,
        enforces_validation=spec.schema_validation_enforced,
        allows_replicators=spec.is_allow_auto_update_schema_with_replicator if has_replicators else None,
    )


def differing(desired: NamespaceSettings, current: NamespaceSettings) -> NamespaceSettings:
    """Return the desired settings that differ from the observed ones. All others are None."""
    after = written_over(current, desired)
    return _taken(
        NamespaceSettings(), desired, [each for each in Setting if _value(after, each) != _value(current, each)]
    )


def written_over(current: NamespaceSettings, desired: NamespaceSettings) -> NamespaceSettings:
    """Return the settings after `desired` is written. UNDEFINED becomes None."""
    after = _taken(current, desired, named(desired))
    return replace(after, strategy=None) if after.strategy is Strategy.UNDEFINED else after


def named(settings: NamespaceSettings) -> tuple[Setting, ...]:
    """Return the settings that are not None."""
    return tuple(each for each in Setting if _value(settings, each) is not None)


def only(settings: NamespaceSettings, which: Collection[Setting]) -> NamespaceSettings:
    """Return the settings `which`. All others are None."""
    return _taken(NamespaceSettings(), settings, which)


def stored_before(known: StoredSettings, current: NamespaceSettings, change: NamespaceSettings) -> StoredSettings:
    """Return the record to store before `change` is written. Values that are recorded already stay."""
    fresh = [each for each in named(change) if each not in known.managed]
    managed = tuple(each for each in Setting if each in known.managed or each in fresh)
    return StoredSettings(_taken(known.original, current, fresh), managed)


def unmanaged_notes(desired: NamespaceSettings, current: NamespaceSettings, known: StoredSettings) -> tuple[str, ...]:
    """Return a note for each setting that is not managed any more and differs from its original value."""
    return tuple(
        f"{each} is not managed any more: it is {_shown(current, each)} in the Pulsar namespace; before the operator "
        f"wrote it, it was {_shown(known.original, each)}"
        for each in known.managed
        if _value(desired, each) is None and _value(current, each) != _value(known.original, each)
    )


def is_lock(change: NamespaceSettings, current: NamespaceSettings, own: BrokerSettings | None) -> bool:
    """Return True if the change stops clients that may add schemas now."""
    is_locked_by_broker = current.allows_auto_update is None and own is not None and own.allows_auto_update is False
    return change.allows_auto_update is False and not is_locked_by_broker


def override_notes(desired: NamespaceSettings, own: BrokerSettings | None) -> tuple[str, ...]:
    """Return notes about settings that a Pulsar namespace cannot override."""
    if desired.enforces_validation is False and own is not None and own.enforces_validation:
        return (f"the broker's own configuration sets {Setting.ENFORCEMENT}, which no Pulsar namespace can switch off",)
    return ()


def describe_difference(change: NamespaceSettings, current: NamespaceSettings) -> str:
    """Return a text with the observed and the desired value of each setting in `change`."""
    return "; ".join(
        f"{each} is {_shown(current, each)} in the Pulsar namespace and {_shown(change, each)} in the policy"
        for each in named(change)
    )


def observed(current: NamespaceSettings, own: BrokerSettings | None, address: str = "") -> ObservedSettings:
    """Return the status field for the settings that were observed at that address."""
    return ObservedSettings(
        schema_compatibility_strategy=current.strategy,
        schema_auto_update_compatibility_strategy=current.auto_update_strategy,
        is_allow_auto_update_schema=current.allows_auto_update,
        schema_validation_enforced=current.enforces_validation,
        is_allow_auto_update_schema_with_replicator=current.allows_replicators,
        replication_clusters=tuple(each[:_LONGEST] for each in current.replication_clusters[:_LISTED]) or None,
        broker=None if own is None else observed_broker(own),
        address=address or None,
    )


def observed_broker(own: BrokerSettings) -> ObservedBroker:
    """Return the status field for the broker's own settings."""
    return ObservedBroker(
        schema_compatibility_strategy=own.strategy,
        is_allow_auto_update_schema=own.allows_auto_update,
        schema_validation_enforced=own.enforces_validation,
    )


def known_of_broker(before: ObservedSettings | None) -> BrokerSettings | None:
    """Return the broker's defaults of the last status, or None. They apply while the broker does not return any."""
    known = None if before is None else before.broker
    if known is None:
        return None
    return BrokerSettings(
        known.schema_compatibility_strategy, known.is_allow_auto_update_schema, known.schema_validation_enforced
    )


def _value(settings: NamespaceSettings, setting: Setting) -> Strategy | bool | None:
    value: Strategy | bool | None = getattr(settings, _ATTRIBUTES[setting])
    return value


def _taken(base: NamespaceSettings, other: NamespaceSettings, which: Collection[Setting]) -> NamespaceSettings:
    """Return `base` with the settings `which` of `other`."""
    values: dict[str, Any] = {_ATTRIBUTES[each]: _value(other, each) for each in which}
    return replace(base, **values)


def _shown(settings: NamespaceSettings, setting: Setting) -> str:
    value = _value(settings, setting)
    return "not set" if value is None else str(value).lower() if isinstance(value, bool) else value.value
