"""The policy of a topic: the effective strategy with its source, and the platform team's constraints."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from topicschema.core.checkers import BUILT_IN, Checkers
from topicschema.core.compatibility import Incompatibility
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy
from topicschema.core.topics import matches_glob
from topicschema.core.validation_rules import ValidationRules, relaxations


class StrategySource(StrEnum):
    """The level that sets the effective strategy."""

    TOPIC = "Topic"
    NAMESPACE = "Namespace"
    BROKER = "Broker"


class Strictness(StrEnum):
    """Broker: exactly the broker's verdict; risks are reported. Strict: risks are refused, too."""

    BROKER = "Broker"
    STRICT = "Strict"


DELETION_NOT_ALLOWED: Final = "DELETION_POLICY_NOT_ALLOWED"


@dataclass(frozen=True, slots=True)
class StrategyException:
    """Strategies that one topic may also set, until a time.

    `topic` is its local name. `until` is as the policy has it, `end` the same in RFC 3339, UTC, with seconds.
    """

    topic: str
    allowed_strategies: tuple[Strategy, ...]
    until: str
    end: str
    reason: str


@dataclass(frozen=True, slots=True)
class Constraints:
    """Governance at admission; empty or None means no limit. `max_schema_bytes` counts UTF-8 bytes of the text.

    Without `allowed_strategies`, a topic may set each strategy that is not weaker than the policy's.
    """

    allowed_types: tuple[SchemaType, ...] = ()
    allowed_strategies: tuple[Strategy, ...] = ()
    required_properties: tuple[str, ...] = ()
    max_schema_bytes: int | None = None
    may_relax_validation: bool = False
    allows_deletion: bool = False
    exceptions: tuple[StrategyException, ...] = ()


UNCONSTRAINED: Final = Constraints(allowed_strategies=tuple(Strategy), may_relax_validation=True, allows_deletion=True)
"""The constraints where there is no NamespaceSchemaPolicy."""


@dataclass(frozen=True, slots=True)
class TopicChoices:
    """Choices of a TopicSchema, within the policy's constraints.

    `deletes_history` is True if the history is deleted with the resource.
    """

    strategy: Strategy | None = None
    validation: ValidationRules = field(default_factory=ValidationRules)
    deletes_history: bool = False


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

    Three fields are for one topic. `unmanaged_strategy` is its own strategy at the broker, if its resource sets none
    (any more). `exception` is the one for the topic, and `has_ended` is True if the exception has ended.
    """

    strategy: Strategy | None = None
    strictness: Strictness = Strictness.BROKER
    profile: BrokerProfile = field(default_factory=BrokerProfile)
    constraints: Constraints = UNCONSTRAINED
    validation: ValidationRules = field(default_factory=ValidationRules)
    unmanaged_strategy: Strategy | None = None
    exception: StrategyException | None = None
    has_ended: bool = False

    @property
    def unconstrained(self) -> "Policy":
        """The same policy without constraints, for versions that are registered already."""
        return replace(self, constraints=UNCONSTRAINED)


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


def violations(info: SchemaInfo, choices: TopicChoices, policy: Policy) -> tuple[Incompatibility, ...]:
    """Return every constraint that the resource violates. `path` is a field of the resource (`spec.type`)."""
    return tuple(_violations(info, choices, policy))


def _violations(info: SchemaInfo, choices: TopicChoices, policy: Policy) -> Iterator[Incompatibility]:
    constraints = policy.constraints
    types, limit = constraints.allowed_types, constraints.max_schema_bytes
    if types and info.type not in types:
        yield Incompatibility("TYPE_NOT_ALLOWED", "spec.type", f"the policy allows {_listed(types)}, not {info.type}")
    if choices.strategy is not None and not _is_allowed(choices.strategy, policy):
        message = f"the policy allows {_allowed(policy)} as a topic's own strategy, not {choices.strategy}"
        message = "; ".join(filter(None, (exception_note(policy, choices.strategy, is_refused=True), message)))
        yield Incompatibility("STRATEGY_NOT_ALLOWED", "spec.schemaCompatibilityStrategy", message)
    if choices.deletes_history and not constraints.allows_deletion:
        yield Incompatibility(
            DELETION_NOT_ALLOWED, "spec.deletionPolicy", "the policy allows the deletionPolicy Retain, not Delete"
        )
    if not constraints.may_relax_validation:
        yield from relaxations(choices.validation, policy.validation)
    for name in constraints.required_properties:
        if not info.properties.get(name):
            yield Incompatibility("PROPERTY_MISSING", "spec.properties", f"the policy requires the property {name!r}")
    if limit is not None and len(info.schema) > limit:
        yield Incompatibility(
            "SCHEMA_TOO_LARGE", "spec.schema", f"the policy allows {limit} bytes, the schema has {len(info.schema)}"
        )


def for_topic(policy: Policy, topic: str, now: str) -> Policy:
    """Return the policy for the topic of that local name at the time `now`: RFC 3339, UTC, with seconds."""
    exception = next((each for each in policy.constraints.exceptions if each.topic == topic), None)
    return replace(policy, exception=exception, has_ended=exception is not None and exception.end <= now)


def used_exception(policy: Policy, strategy: Strategy | None) -> StrategyException | None:
    """Return the exception that applies, and without which the topic could not set its strategy."""
    return None if policy.has_ended else _needed_exception(policy, strategy)


def ended_exception(policy: Policy, strategy: Strategy | None) -> StrategyException | None:
    """Return the exception that allowed the topic's strategy, and has ended."""
    return _needed_exception(policy, strategy) if policy.has_ended else None


def counted_strategy(policy: Policy, strategy: Strategy | None) -> Strategy | None:
    """Return the topic's own strategy, or None if the exception that allowed it has ended."""
    return None if ended_exception(policy, strategy) else strategy


def permitted_strategy(policy: Policy, strategy: Strategy | None) -> Strategy | None:
    """Return the topic's own strategy, or None if the policy does not allow it."""
    return None if strategy is None or not _is_allowed(strategy, policy) else strategy


def exception_note(policy: Policy, strategy: Strategy | None, *, is_refused: bool = False) -> str:
    """Return what the topic's exception does for a topic with that strategy, or "".

    For a refusal, also name an exception that the topic does not use.
    """
    exception = policy.exception
    if exception is None:
        return ""
    until, listed = f"until {exception.until} ({exception.reason})", _listed(exception.allowed_strategies)
    ended = f"the policy's exception for this topic, which allowed {listed} {until}, has ended"
    if used_exception(policy, strategy):
        return f"an exception of the policy allows {strategy} for this topic {until}"
    if ended_exception(policy, strategy):
        return f"{ended}: schemaCompatibilityStrategy: {strategy} counts as unset, so remove it"
    if not is_refused:
        return ""
    return ended if policy.has_ended else f"an exception of the policy lets this topic set {listed} {until}"


def _needed_exception(policy: Policy, strategy: Strategy | None) -> StrategyException | None:
    exception = policy.exception
    if exception is None or strategy not in exception.allowed_strategies:
        return None
    return None if _is_allowed_always(strategy, policy) else exception


def _is_allowed(strategy: Strategy, policy: Policy) -> bool:
    """Return True if a topic may set the strategy now."""
    return _is_allowed_always(strategy, policy) or used_exception(policy, strategy) is not None


def _is_allowed_always(strategy: Strategy, policy: Policy) -> bool:
    """Return True if a topic may set the strategy without an exception. UNDEFINED only removes the topic's own."""
    if strategy is Strategy.UNDEFINED:
        return True
    listed = policy.constraints.allowed_strategies
    return strategy in listed if listed else not strategy.is_weaker_than(_strategy_of(policy))


def _allowed(policy: Policy) -> str:
    """Return the strategies that a topic may set, in words."""
    listed = policy.constraints.allowed_strategies
    return _listed(listed) if listed else f"none that is weaker than its own {_strategy_of(policy)}"


def _strategy_of(policy: Policy) -> Strategy:
    """Return the effective strategy of topics without their own."""
    return effective_strategy(replace(policy, unmanaged_strategy=None), None).value


def _listed(values: tuple[StrEnum, ...]) -> str:
    return ", ".join(str(value) for value in values)


def may_claim(globs: Iterable[str], pulsar_namespace: str) -> bool:
    """Return True if one of the globs matches `tenant/namespace`. `*` never matches the slash."""
    names = pulsar_namespace.split("/")
    split = (glob.split("/") for glob in globs)
    return any(len(parts) == len(names) and all(map(matches_glob, parts, names)) for parts in split)
