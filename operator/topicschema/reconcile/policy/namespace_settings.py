"""What a policy wants of its Pulsar namespace at the broker, against what is there: pure, setting by setting.

A field that the policy leaves out is not managed: the broker keeps what it has, and people are told of it. Asking and
writing is `namespace_state`'s matter.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Final

from topicschema.api.brokers import ObservedBroker, ObservedSettings
from topicschema.api.policies import NamespaceSchemaPolicySpec
from topicschema.core.remote import BrokerSettings, NamespaceSettings, Setting
from topicschema.core.schemas import PulsarLine
from topicschema.core.strategies import Strategy

_ATTRIBUTES: Final = {
    Setting.STRATEGY: "strategy",
    Setting.AUTO_UPDATE: "allows_auto_update",
    Setting.ENFORCEMENT: "enforces_validation",
}


_RELEASE: Final = re.compile(r"([0-9]{1,4})\.([0-9]{1,4})[0-9A-Za-z.-]{0,40}")


@dataclass(frozen=True, slots=True)
class Recorded:
    """What the claim tells: what each managed setting was before the operator first wrote it."""

    found: NamespaceSettings
    managed: tuple[Setting, ...]


def wanted_by(spec: NamespaceSchemaPolicySpec) -> NamespaceSettings:
    """What the policy sets; None where it says nothing."""
    return NamespaceSettings(
        strategy=spec.schema_compatibility_strategy,
        allows_auto_update=spec.is_allow_auto_update_schema,
        enforces_validation=spec.schema_validation_enforced,
    )


def differing(wanted: NamespaceSettings, seen: NamespaceSettings) -> NamespaceSettings:
    """What is wanted and not so; None for all that is."""
    after = written_over(seen, wanted)
    return _taken(NamespaceSettings(), wanted, [each for each in Setting if _value(after, each) != _value(seen, each)])


def written_over(seen: NamespaceSettings, wanted: NamespaceSettings) -> NamespaceSettings:
    """What is there after `wanted` was written: UNDEFINED is not set."""
    after = _taken(seen, wanted, named(wanted))
    return replace(after, strategy=None) if after.strategy is Strategy.UNDEFINED else after


def named(settings: NamespaceSettings) -> tuple[Setting, ...]:
    """The settings that say something."""
    return tuple(each for each in Setting if _value(settings, each) is not None)


def recorded_before(known: Recorded, seen: NamespaceSettings, change: NamespaceSettings) -> Recorded:
    """What has to be on record before `change` is written; what was found first stays found."""
    fresh = [each for each in named(change) if each not in known.managed]
    managed = tuple(each for each in Setting if each in known.managed or each in fresh)
    return Recorded(_taken(known.found, seen, fresh), managed)


def left_behind(wanted: NamespaceSettings, seen: NamespaceSettings, known: Recorded) -> tuple[str, ...]:
    """What is to be told of each setting that was managed and is no more, while it is not as it was found."""
    return tuple(
        f"{each} is not managed any more: the broker keeps {_shown(seen, each)}, and had "
        f"{_shown(known.found, each)} before the operator wrote it"
        for each in known.managed
        if _value(wanted, each) is None and _value(seen, each) != _value(known.found, each)
    )


def is_lock(change: NamespaceSettings, seen: NamespaceSettings, own: BrokerSettings | None) -> bool:
    """Whether the change shuts out clients that may add schemas now."""
    is_locked_by_broker = seen.allows_auto_update is None and own is not None and own.allows_auto_update is False
    return change.allows_auto_update is False and not is_locked_by_broker


def without_lock(change: NamespaceSettings) -> NamespaceSettings:
    """The rest of the change."""
    return replace(change, allows_auto_update=None)


def undeclared(topics: Iterable[str], declared: Collection[str]) -> tuple[str, ...]:
    """The topics that have no TopicSchema, in order; local names both."""
    return tuple(sorted(set(topics).difference(declared)))


def overruled(wanted: NamespaceSettings, own: BrokerSettings | None) -> tuple[str, ...]:
    """What is to be told of settings that a Pulsar namespace cannot make true."""
    if wanted.enforces_validation is False and own is not None and own.enforces_validation:
        return (f"the broker itself sets {Setting.ENFORCEMENT}, which no Pulsar namespace can switch off",)
    return ()


def other_line(line: PulsarLine, own: BrokerSettings | None) -> str:
    """What is to be told of a broker of another release line than topics are judged by, "" where it is of that line.

    What came before the first line that is known has its rules, what comes after the last is taken for it.
    """
    release = _RELEASE.match((own.version or "") if own is not None else "")
    if release is None:
        return ""
    number = (int(release[1]), int(release[2]))
    there = [each for each in PulsarLine if _number(each) <= number] or [min(PulsarLine, key=_number)]
    if max(there, key=_number) is line:
        return ""
    return f"the broker is {release[0]}, brokerProfile.line says {line}: topics are judged by the rules of {line}"


def told_of(change: NamespaceSettings, seen: NamespaceSettings) -> str:
    """What is wanted and what is there instead."""
    return "; ".join(f"{each} is {_shown(seen, each)} and not {_shown(change, each)}" for each in named(change))


def observed(seen: NamespaceSettings, own: BrokerSettings | None, address: str = "") -> ObservedSettings:
    """What was seen at that address, as the status tells it."""
    broker = None
    if own is not None:
        broker = ObservedBroker(
            schema_compatibility_strategy=own.strategy,
            is_allow_auto_update_schema=own.allows_auto_update,
            schema_validation_enforced=own.enforces_validation,
        )
    return ObservedSettings(
        schema_compatibility_strategy=seen.strategy,
        schema_auto_update_compatibility_strategy=seen.auto_update_strategy,
        is_allow_auto_update_schema=seen.allows_auto_update,
        schema_validation_enforced=seen.enforces_validation,
        broker=broker,
        address=address or None,
    )


def known_of_broker(before: ObservedSettings | None) -> BrokerSettings | None:
    """What the broker told the last time; it counts while it tells no more."""
    known = None if before is None else before.broker
    if known is None:
        return None
    return BrokerSettings(
        known.schema_compatibility_strategy, known.is_allow_auto_update_schema, known.schema_validation_enforced
    )


def _number(line: PulsarLine) -> tuple[int, int]:
    major, minor = line.value.split(".")
    return int(major), int(minor)


def _value(settings: NamespaceSettings, setting: Setting) -> Strategy | bool | None:
    value: Strategy | bool | None = getattr(settings, _ATTRIBUTES[setting])
    return value


def _taken(base: NamespaceSettings, other: NamespaceSettings, which: Collection[Setting]) -> NamespaceSettings:
    """`base` with those settings as `other` has them."""
    return replace(
        base,
        strategy=(other if Setting.STRATEGY in which else base).strategy,
        allows_auto_update=(other if Setting.AUTO_UPDATE in which else base).allows_auto_update,
        enforces_validation=(other if Setting.ENFORCEMENT in which else base).enforces_validation,
    )


def _shown(settings: NamespaceSettings, setting: Setting) -> str:
    value = _value(settings, setting)
    return "nothing" if value is None else str(value).lower() if isinstance(value, bool) else value.value
