"""The policy of a topic: the effective strategy with its source, and the platform team's constraints."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from topicschema.core.checkers import BUILT_IN, Checkers
from topicschema.core.compatibility import Incompatibility
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy


class StrategySource(StrEnum):
    """The level that sets the effective strategy."""

    TOPIC = "Topic"
    NAMESPACE = "Namespace"
    BROKER = "Broker"


class Strictness(StrEnum):
    """Broker: exactly the broker's verdict; risks are reported. Strict: risks are refused, too."""

    BROKER = "Broker"
    STRICT = "Strict"


@dataclass(frozen=True, slots=True)
class Constraints:
    """Governance at admission; empty or None means no limit. `max_schema_bytes` counts UTF-8 bytes of the text."""

    allowed_types: tuple[SchemaType, ...] = ()
    allowed_strategies: tuple[Strategy, ...] = ()
    required_properties: tuple[str, ...] = ()
    max_schema_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class BrokerProfile:
    """The broker's defaults; FULL is Pulsar's own.

    `checkers` stand for the classes that replace its own checkers.
    """

    pulsar_version: PulsarVersion = PulsarVersion.V4_0
    strategy: Strategy = Strategy.FULL
    checkers: Checkers = field(default_factory=lambda: BUILT_IN, hash=False)


@dataclass(frozen=True, slots=True)
class Policy:
    """The part of a NamespaceSchemaPolicy that affects judging.

    `unmanaged_strategy` is for one topic: its own strategy at the broker, if its resource sets none (any more).
    """

    strategy: Strategy | None = None
    strictness: Strictness = Strictness.BROKER
    profile: BrokerProfile = field(default_factory=BrokerProfile)
    constraints: Constraints = field(default_factory=Constraints)
    unmanaged_strategy: Strategy | None = None


@dataclass(frozen=True, slots=True)
class EffectiveStrategy:
    """The effective strategy of one topic, never UNDEFINED, and the level that sets it."""

    value: Strategy
    source: StrategySource


def effective_strategy(policy: Policy, topic_override: Strategy | None) -> EffectiveStrategy:
    """Return the strategy of the first of topic, namespace and broker that sets one. None and UNDEFINED set none.

    UNDEFINED in a profile means FULL, as in the broker's own getter.
    """
    own = policy.unmanaged_strategy if topic_override is None else topic_override
    for value, source in ((own, StrategySource.TOPIC), (policy.strategy, StrategySource.NAMESPACE)):
        if value is not None and value is not Strategy.UNDEFINED:
            return EffectiveStrategy(value, source)
    default = policy.profile.strategy
    return EffectiveStrategy(Strategy.FULL if default is Strategy.UNDEFINED else default, StrategySource.BROKER)


def violations(
    info: SchemaInfo, topic_override: Strategy | None, constraints: Constraints
) -> tuple[Incompatibility, ...]:
    """Return every constraint that the resource violates. `path` is a field of the resource (`spec.type`)."""
    return tuple(_violations(info, topic_override, constraints))


def _violations(
    info: SchemaInfo, topic_override: Strategy | None, constraints: Constraints
) -> Iterator[Incompatibility]:
    types, strategies, limit = constraints.allowed_types, constraints.allowed_strategies, constraints.max_schema_bytes
    if types and info.type not in types:
        yield Incompatibility("TYPE_NOT_ALLOWED", "spec.type", f"the policy allows {_listed(types)}, not {info.type}")
    is_override = topic_override not in (None, Strategy.UNDEFINED)
    if is_override and strategies and topic_override not in strategies:
        yield Incompatibility(
            "STRATEGY_NOT_ALLOWED",
            "spec.schemaCompatibilityStrategy",
            f"the policy allows {_listed(strategies)} as a topic's own strategy, not {topic_override}",
        )
    for name in constraints.required_properties:
        if not info.properties.get(name):
            yield Incompatibility("PROPERTY_MISSING", "spec.properties", f"the policy requires the property {name!r}")
    if limit is not None and len(info.schema) > limit:
        yield Incompatibility(
            "SCHEMA_TOO_LARGE", "spec.schema", f"the policy allows {limit} bytes, the schema has {len(info.schema)}"
        )


def _listed(values: tuple[StrEnum, ...]) -> str:
    return ", ".join(str(value) for value in values)


def may_claim(globs: Iterable[str], pulsar_namespace: str) -> bool:
    """Return True if one of the globs matches `tenant/namespace`. `*` never matches the slash."""
    patterns = ("[^/]*".join(re.escape(part) for part in glob.split("*")) for glob in globs)
    return any(re.fullmatch(pattern, pulsar_namespace) for pattern in patterns)
