"""judge(): may this schema be the topic's next version? The one answer that webhook, controller and command line give.

The order is the broker's (SchemaRegistryServiceImpl.putSchemaIfAbsent, line 4.0): dedupe first, whatever the strategy;
an empty history takes anything that parses; then the check. Before all of it stand the platform team's constraints.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from topicschema.core import compatibility
from topicschema.core.compatibility import Incompatibility, Predecessor
from topicschema.core.history import History, VersionEntry
from topicschema.core.policy import EffectiveStrategy, Policy, effective_strategy, violations
from topicschema.core.schemas import Schema
from topicschema.core.strategies import Strategy


class Outcome(StrEnum):
    """What a verdict comes to."""

    NEXT_VERSION = "NextVersion"
    EQUAL_VERSION = "EqualVersion"
    INCOMPATIBLE = "Incompatible"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer. `schema_version` is the number it has (EQUAL_VERSION) or would take (NEXT_VERSION), else None."""

    outcome: Outcome
    strategy: EffectiveStrategy
    schema_version: int | None
    incompatibilities: tuple[Incompatibility, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def is_compatible(self) -> bool:
        """Whether the schema may be registered, or is already."""
        return self.outcome is not Outcome.INCOMPATIBLE


@dataclass(frozen=True, slots=True)
class Candidate:
    """What is judged: the parsed schema and the topic's own strategy, if it has one."""

    schema: Schema
    strategy: Strategy | None = None


def needed(candidate: Candidate, history: History, policy: Policy) -> tuple[VersionEntry, ...]:
    """The versions whose payloads `judge` will want; empty when types and fingerprints decide."""
    strategy = effective_strategy(policy, candidate.strategy).value
    if history.equal_to(candidate.schema.fingerprint):
        return ()
    kind = candidate.schema.info.type
    return tuple(
        entry for entry in _considered(history, strategy) if compatibility.is_payload_needed(strategy, kind, entry.type)
    )


def judge(candidate: Candidate, history: History, policy: Policy, payloads: Mapping[int, Schema]) -> Verdict:
    """The verdict on `candidate` as the topic's next version.

    `payloads` holds the parsed schema of every version that `needed` named, by number. KeyError when one is missing.
    """
    schema = candidate.schema
    strategy = effective_strategy(policy, candidate.strategy)
    broken = violations(schema.info, candidate.strategy, policy.constraints)
    if broken:
        return Verdict(Outcome.INCOMPATIBLE, strategy, None, broken)
    equal = history.equal_to(schema.fingerprint)
    if equal is not None:
        return Verdict(Outcome.EQUAL_VERSION, strategy, equal.schema_version, (), _kept_text(schema, equal))
    wanted = needed(candidate, history, policy)
    considered = [
        Predecessor(e.schema_version, e.type, payloads[e.schema_version] if e in wanted else None)
        for e in _considered(history, strategy.value)
    ]
    found = compatibility.check(schema, considered, strategy.value)
    if found:
        return Verdict(Outcome.INCOMPATIBLE, strategy, None, found)
    return Verdict(Outcome.NEXT_VERSION, strategy, history.next_version)


def _considered(history: History, strategy: Strategy) -> tuple[VersionEntry, ...]:
    trimmed = tuple(history.trimmed)
    return trimmed if strategy.is_transitive else trimmed[-1:]


def _kept_text(schema: Schema, equal: VersionEntry) -> tuple[str, ...]:
    if schema.info.content_hash == equal.content_hash:
        return ()
    ignored = "what Pulsar does not compare (docs, aliases, properties, spacing)"
    return (f"the schema equals version {equal.schema_version} but for {ignored}: what is stored stays as it was",)
