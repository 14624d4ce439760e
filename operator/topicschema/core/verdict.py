"""The verdict on a schema as the topic's next version, which webhook, controller and command line share.

The order is the broker's (SchemaRegistryServiceImpl.putSchemaIfAbsent, Pulsar 4.0): dedupe first, whatever the
strategy; an empty history accepts anything that parses; then the check. The platform team's constraints precede all of
it. Under Strict, what the broker accepts but hurts consumers is refused, too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

from topicschema.core import broker_errors, compatibility, formats, parts
from topicschema.core.compatibility import Incompatibility, Predecessor
from topicschema.core.formats.avro import AvroSchema
from topicschema.core.formats.avro.doubles import stored_as_floats
from topicschema.core.formats.key_value import KeyValueSchema, Side
from topicschema.core.history import History, VersionEntry
from topicschema.core.parts import Findings
from topicschema.core.policy import EffectiveStrategy, Policy, Strictness, effective_strategy, violations
from topicschema.core.schemas import AVRO_TEXTS, Schema, SchemaType
from topicschema.core.steps import MOST_STEPS, Listing
from topicschema.core.strategies import Strategy


class Outcome(StrEnum):
    """The result of a verdict."""

    NEXT_VERSION = "NextVersion"
    EQUAL_VERSION = "EqualVersion"
    INCOMPATIBLE = "Incompatible"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict. `schema_version` is its number (EQUAL_VERSION), the next number (NEXT_VERSION), or None.

    `risks` are what the broker accepts and consumers will lose or misread; under Strict they are incompatibilities.
    `notes` are warnings under any strictness. `thrown` is the incompatibility on which the broker's comparison
    throws an exception, so that the broker returns an error and not a verdict. `strict_only` are the incompatibilities
    that are risks if the policy is not Strict.
    """

    outcome: Outcome
    strategy: EffectiveStrategy
    schema_version: int | None
    incompatibilities: tuple[Incompatibility, ...] = ()
    risks: tuple[Incompatibility, ...] = ()
    notes: tuple[Incompatibility, ...] = ()
    thrown: Incompatibility | None = None
    strict_only: frozenset[Incompatibility] = frozenset()

    @property
    def is_compatible(self) -> bool:
        """True if the schema may be registered or already is."""
        return self.outcome is not Outcome.INCOMPATIBLE


@dataclass(frozen=True, slots=True)
class Candidate:
    """The schema to judge: the parsed schema and the topic's own strategy, if it has one."""

    schema: Schema
    strategy: Strategy | None = None


class Earlier(NamedTuple):
    """An earlier version, and what a verdict needs of it.

    `is_compared` is True if the candidate is compared with it. `is_read` is True if its text is read, `is_required` if
    there is no verdict without the text. Other texts are for risks that are reported and not refused.
    """

    entry: VersionEntry
    is_compared: bool = True
    is_read: bool = True
    is_required: bool = True


def earlier_versions(
    candidate: Candidate, history: History, policy: Policy, *, is_deduplicated: bool = True
) -> list[Earlier]:
    """Return the versions that `judge` needs, newest first.

    If `is_deduplicated` is False, return those of a comparison without the broker's dedupe before it.
    """
    strategy, kind = effective_strategy(policy, candidate.strategy).value, candidate.schema.info.type
    checkers, is_strict = policy.profile.checkers, policy.strictness is Strictness.STRICT
    equal = history.equal_to(candidate.schema.fingerprint) if is_deduplicated else None
    parsed = _parsed_by_dedupe(candidate, history, policy, equal) if is_deduplicated else ()
    versions = {entry.schema_version: Earlier(entry, is_compared=False) for entry in parsed}
    for entry in (equal,) if equal else _considered(history, strategy):
        if equal:
            is_needed, is_useful = False, _differs_in_properties(candidate.schema, equal)
        else:
            is_needed = compatibility.is_payload_needed(strategy, kind, entry.type, checkers)
            is_useful = compatibility.is_payload_used(strategy, kind, entry.type, checkers)
        is_parsed = entry.schema_version in versions
        is_required = is_parsed or is_needed or (is_useful and is_strict)
        versions[entry.schema_version] = Earlier(entry, is_read=is_parsed or is_useful, is_required=is_required)
    return [each for _, each in sorted(versions.items(), reverse=True)]


def needed(candidate: Candidate, history: History, policy: Policy) -> tuple[VersionEntry, ...]:
    """Return the versions whose payloads `judge` uses; empty if types and fingerprints decide."""
    return tuple(each.entry for each in reversed(earlier_versions(candidate, history, policy)) if each.is_read)


def judge(candidate: Candidate, history: History, policy: Policy, payloads: Mapping[int, Schema]) -> Verdict:
    """Return the verdict on `candidate` as the topic's next version.

    `payloads` has the parsed schema of every version of `needed`, by number. Raises KeyError if a required one is
    missing. Going back to an earlier version is always allowed, under Strict too: it is in the history already.
    """
    broken = refused_by_constraints(candidate, policy)
    if broken is not None:
        return broken
    before = predecessors(earlier_versions(candidate, history, policy), payloads)
    if history.equal_to(candidate.schema.fingerprint) is not None:
        return concluded(candidate, history, policy, compare_equal(candidate.schema, before[0], policy))
    strategy = effective_strategy(policy, candidate.strategy).value
    return concluded(candidate, history, policy, compare(candidate.schema, before, strategy, policy))


def predecessors(newest_first: Sequence[Earlier], payloads: Mapping[int, Schema]) -> list[Predecessor]:
    """Return the compared versions, oldest first, with their payloads. Raise KeyError if a required one is missing."""
    return [
        Predecessor(n, entry.type, payloads[n] if is_required else payloads.get(n))
        for entry, is_compared, _, is_required in reversed(newest_first)
        for n in (entry.schema_version,)
        if is_compared
    ]


def concluded(candidate: Candidate, history: History, policy: Policy, comparison: "Comparison") -> Verdict:
    """Return the verdict that follows from a comparison with the `earlier_versions`."""
    strategy, equal = effective_strategy(policy, candidate.strategy), history.equal_to(candidate.schema.fingerprint)
    findings = comparison.incompatibilities
    if findings:
        thrown, strict_only = comparison.thrown, comparison.strict_only
        return Verdict(Outcome.INCOMPATIBLE, strategy, None, findings, comparison.risks, (), thrown, strict_only)
    if equal is None:
        notes = _doubles_note(candidate.schema)
        return Verdict(Outcome.NEXT_VERSION, strategy, history.next_version, (), comparison.risks, notes)
    notes = _stored_text_note(candidate.schema, equal)
    return Verdict(Outcome.EQUAL_VERSION, strategy, equal.schema_version, (), comparison.risks, notes)


def refused_by_constraints(candidate: Candidate, policy: Policy) -> Verdict | None:
    """Return the verdict if the platform team's constraints refuse the candidate, whatever the history."""
    broken = violations(candidate.schema.info, candidate.strategy, policy.constraints)
    strategy = effective_strategy(policy, candidate.strategy)
    return Verdict(Outcome.INCOMPATIBLE, strategy, None, broken) if broken else None


def refused(candidate: Candidate, policy: Policy, finding: Incompatibility) -> Verdict:
    """Return the verdict if a broker would fail before it judges: no, whatever the candidate is.

    Violations of the platform team's constraints have precedence, as in `judge`.
    """
    broken = refused_by_constraints(candidate, policy)
    return broken or Verdict(Outcome.INCOMPATIBLE, effective_strategy(policy, candidate.strategy), None, (finding,))


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of comparing a schema with those before it: reasons to refuse it, and risks that are only reported.

    `thrown` and `strict_only` are those of a `Verdict`.
    """

    incompatibilities: tuple[Incompatibility, ...]
    risks: tuple[Incompatibility, ...]
    thrown: Incompatibility | None = None
    strict_only: frozenset[Incompatibility] = frozenset()


def compare(candidate: Schema, considered: Sequence[Predecessor], strategy: Strategy, policy: Policy) -> Comparison:
    """Return the check and the risks under the policy's strictness. `considered` is `compatibility.check`'s."""
    checkers, findings = policy.profile.checkers, Findings(risks=Listing(compatibility.self_risks(candidate)))
    for part in parts.divided(reversed(considered)):
        findings += parts.compare(candidate, part, strategy, checkers, MOST_STEPS - findings.steps)
        if findings.too_complex:
            break
    else:
        findings.refused += compatibility.check_plugged(candidate, considered, strategy, checkers)
    comparison = strictly(policy, findings, strategy)
    return replace(comparison, thrown=None) if compatibility.uses_custom_checker(candidate, checkers) else comparison


def compare_equal(candidate: Schema, equal: Predecessor, policy: Policy) -> Comparison:
    """Return the same for two schemas that the broker takes for one and does not compare."""
    return strictly(policy, Findings(risks=Listing(compatibility.risks_of_equal(candidate, equal))))


def strictly(policy: Policy, findings: Findings, strategy: Strategy | None = None) -> Comparison:
    """Return the comparison under the policy's strictness. It refuses the candidate if the comparison was given up.

    `strategy` is the one under which Pulsar's own checkers ran, or None if they did not run.
    """
    refused, risks = compatibility.listed(findings.refused), compatibility.listed(findings.risks)
    thrown = None if strategy is None else broker_errors.broker_would_throw(strategy, refused)
    too_complex = (findings.too_complex,) if findings.too_complex else ()
    if policy.strictness is Strictness.STRICT:
        return Comparison((*refused, *risks, *too_complex), (), thrown, frozenset(risks))
    return Comparison((*refused, *too_complex), risks, thrown)


def _parsed_by_dedupe(
    candidate: Candidate, history: History, policy: Policy, equal: VersionEntry | None
) -> tuple[VersionEntry, ...]:
    """Return the versions that the broker's dedupe parses and that may not parse under the policy's Pulsar version."""
    if candidate.schema.info.type not in AVRO_TEXTS:
        return ()
    return history.unverified_for(policy.profile.pulsar_version, equal)


def _differs_in_properties(schema: Schema, equal: VersionEntry) -> bool:
    return formats.properties_matter(equal.type) and equal.content_hash != schema.info.content_hash


def _considered(history: History, strategy: Strategy) -> tuple[VersionEntry, ...]:
    active_versions = tuple(history.active_versions)
    return active_versions if strategy.is_transitive else active_versions[-1:]


def _doubles_note(schema: Schema) -> tuple[Incompatibility, ...]:
    paths = _arrays_of_doubles(schema)
    if not paths:
        return ()
    others = f" and {len(paths) - 1:,} more" if paths[1:] else ""
    message = (
        f"consumers with AUTO_CONSUME or a generated class get the doubles of the array at {paths[0]}{others} as "
        'floats; make the items ["null", "double"], or read with a class that has a List<Double>'
    )
    return (Incompatibility("ARRAY_OF_DOUBLES_AS_FLOATS", paths[0], message),)


def _arrays_of_doubles(schema: Schema) -> list[str]:
    if isinstance(schema, KeyValueSchema):
        parts = zip(Side, (schema.key, schema.value), strict=True)
        return [f"$.{side}{path[1:]}" for side, part in parts for path in _arrays_of_doubles(part)]
    if isinstance(schema, AvroSchema) and schema.info.type is SchemaType.AVRO:
        return stored_as_floats(schema.root, schema.library)
    return []


def _stored_text_note(schema: Schema, equal: VersionEntry) -> tuple[Incompatibility, ...]:
    if schema.info.content_hash == equal.content_hash:
        return ()
    ignored = "what Pulsar does not compare (docs, aliases, properties, spacing)"
    message = f"the schema equals version {equal.schema_version} but for {ignored}: what is stored stays as it was"
    return (Incompatibility("STORED_SCHEMA_UNCHANGED", "$", message, None, equal.schema_version),)
