"""The verdict on a schema as the topic's next version, which webhook, controller and command line share.

The order is the broker's (SchemaRegistryServiceImpl.putSchemaIfAbsent, Pulsar 4.0): dedupe first, whatever the
strategy; an empty history accepts anything that parses; then the check. The platform team's constraints precede all of
it. Under Strict, what the broker accepts but hurts consumers is refused, too.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial

from topicschema.core import broker_errors, broker_versions, compatibility, formats
from topicschema.core.broker_versions import UnreadableVersionError
from topicschema.core.comparison import ComparisonRequest, CustomCheck, Earlier, Findings, Judging, compare_all
from topicschema.core.compatibility import Incompatibility
from topicschema.core.history import Flaw, History, VersionEntry
from topicschema.core.policy import EffectiveStrategy, Policy, Strictness, TopicChoices, effective_strategy, violations
from topicschema.core.schemas import AVRO_TEXTS, Schema, SchemaInfo
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
    """The schema to judge: the parsed schema, and what the topic sets for itself."""

    schema: Schema
    choices: TopicChoices = field(default_factory=TopicChoices)

    @property
    def strategy(self) -> Strategy | None:
        """The topic's own strategy, if it has one."""
        return self.choices.strategy


def earlier_versions(
    candidate: Candidate, history: History, policy: Policy, *, is_deduplicated: bool = True
) -> list[Earlier]:
    """Return the versions that `judge` reads or compares, newest first.

    If `is_deduplicated` is False, return those of a comparison without the broker's dedupe before it.
    """
    strategy, kind = effective_strategy(policy, candidate.strategy).value, candidate.schema.info.type
    checkers, is_strict = policy.profile.checkers, policy.strictness is Strictness.STRICT
    equal = history.equal_to(candidate.schema.fingerprint) if is_deduplicated else None
    parsed = _parsed_by_dedupe(candidate, history, policy, equal) if is_deduplicated else ()
    versions = {entry.schema_version: Earlier(entry, entry.type, is_compared=False) for entry in parsed}
    for entry in (equal,) if equal else _considered(history, strategy):
        if equal:
            is_needed, is_useful = False, _differs_in_properties(candidate.schema, equal)
        else:
            is_needed = compatibility.is_payload_needed(strategy, kind, entry.type, checkers)
            is_useful = compatibility.is_payload_used(strategy, kind, entry.type, checkers)
        is_parsed = entry.schema_version in versions
        is_required = is_parsed or is_needed or (is_useful and is_strict)
        versions[entry.schema_version] = Earlier(
            entry, entry.type, is_read=is_parsed or is_useful, is_required=is_required
        )
    return [each for _, each in sorted(versions.items(), reverse=True)]


def judge(candidate: Candidate, history: History, policy: Policy) -> Judging[Verdict]:
    """Return the verdict on `candidate` as the topic's next version.

    `history` must have the flaws for the policy's Pulsar version. If the broker must read a version and cannot, the
    verdict is a refusal with the rule INVALID_HISTORY. Going back to an earlier version is always allowed, under Strict
    too: it is in the history already.
    """
    broken = _refused_by_constraints(candidate, policy)
    if broken is not None:
        return broken
    try:
        broker_versions.check_readable(candidate.schema, history)
        earlier = earlier_versions(candidate, history, policy)
        is_equal = history.equal_to(candidate.schema.fingerprint) is not None
        comparison = yield from compare(candidate, earlier, policy, is_equal=is_equal)
        if not is_equal:
            comparison = comparison.and_then((yield from _compare_deleted(candidate, history, policy)))
    except UnreadableVersionError as error:
        return Verdict(Outcome.INCOMPATIBLE, effective_strategy(policy, candidate.strategy), None, (error.finding,))
    return _concluded(candidate, history, policy, comparison)


def compare_pending(
    candidate: Candidate, pending: SchemaInfo, history: History, policy: Policy, *, is_equal: bool
) -> Judging["Comparison"]:
    """Return the comparison of the candidate with `pending`, an edit that follows all stored versions.

    A custom checker may compare several versions together. So it also gets the stored versions, as it will after the
    edit is registered.
    """
    earlier = [Earlier(None, pending.type, info=pending)]
    is_custom = not is_equal and compatibility.uses_custom_checker(candidate.schema, policy.profile.checkers)
    if is_custom and effective_strategy(policy, candidate.strategy).value.is_transitive:
        earlier += earlier_versions(candidate, history, policy, is_deduplicated=False)
    return (yield from compare(candidate, earlier, policy, is_equal=is_equal))


def _concluded(candidate: Candidate, history: History, policy: Policy, comparison: "Comparison") -> Verdict:
    """Return the verdict that follows from a comparison with the `earlier_versions`."""
    strategy, equal = effective_strategy(policy, candidate.strategy), history.equal_to(candidate.schema.fingerprint)
    findings = comparison.incompatibilities
    if findings:
        thrown, strict_only = comparison.thrown, comparison.strict_only
        return Verdict(Outcome.INCOMPATIBLE, strategy, None, findings, comparison.risks, (), thrown, strict_only)
    if equal is None:
        return Verdict(Outcome.NEXT_VERSION, strategy, history.next_version, (), comparison.risks, comparison.notes)
    notes = _stored_text_note(candidate.schema, equal)
    return Verdict(Outcome.EQUAL_VERSION, strategy, equal.schema_version, (), comparison.risks, notes)


def _refused_by_constraints(candidate: Candidate, policy: Policy) -> Verdict | None:
    """Return the verdict if the platform team's constraints refuse the candidate, whatever the history."""
    broken = violations(candidate.schema.info, candidate.choices, policy)
    strategy = effective_strategy(policy, candidate.strategy)
    return Verdict(Outcome.INCOMPATIBLE, strategy, None, broken) if broken else None


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of comparing a schema with those before it: reasons to refuse it, and risks that are only reported.

    `notes`, `thrown` and `strict_only` are those of a `Verdict`.
    """

    incompatibilities: tuple[Incompatibility, ...]
    risks: tuple[Incompatibility, ...]
    notes: tuple[Incompatibility, ...] = ()
    thrown: Incompatibility | None = None
    strict_only: frozenset[Incompatibility] = frozenset()

    def and_then(self, other: "Comparison") -> "Comparison":
        """Return the comparison with the incompatibilities and risks of another one."""
        return replace(
            self,
            incompatibilities=tuple(dict.fromkeys((*self.incompatibilities, *other.incompatibilities))),
            risks=tuple(dict.fromkeys((*self.risks, *other.risks))),
            strict_only=self.strict_only | other.strict_only,
        )


def _compare_deleted(candidate: Candidate, history: History, policy: Policy) -> Judging[Comparison]:
    """Return the comparison with the deleted versions: all for a transitive strategy, else the latest of a new history.

    Otherwise a deletion would bypass the strategy. The broker compares none of them. A version that does not parse any
    more does not count.
    """
    strategy, kind = effective_strategy(policy, candidate.strategy).value, candidate.schema.info.type
    versions = [
        Earlier(
            entry,
            entry.type,
            is_read=compatibility.is_payload_used(strategy, kind, entry.type, policy.profile.checkers),
            is_required=False,
            incarnation=each.incarnation,
        )
        for each in history.deleted
        for entry in each.entries
        if entry.flaw is Flaw.NONE
    ]
    considered = versions if strategy.is_transitive else versions[-1:] if not history.active_versions else []
    if not considered:
        return Comparison((), ())
    result = yield from compare(candidate, considered[::-1], policy)
    return Comparison(
        tuple(_of_deleted(result.incompatibilities)),
        tuple(_of_deleted(result.risks)),
        strict_only=frozenset(_of_deleted(result.strict_only)),
    )


def _of_deleted(findings: Iterable[Incompatibility]) -> Iterator[Incompatibility]:
    """Yield the findings about a deleted version, with a note of the deletion."""
    for each in findings:
        if each.schema_version is not None:
            yield replace(each, message=f"{each.message}; {compatibility.OF_DELETED}")


def compare(
    candidate: Candidate, newest_first: Sequence[Earlier], policy: Policy, *, is_equal: bool = False
) -> Judging[Comparison]:
    """Return the check and the risks under the policy's strictness. If `is_equal` is True, the broker does not check.

    Raise UnreadableVersionError if a required version does not parse.
    """
    strategy, checkers = effective_strategy(policy, candidate.strategy).value, policy.profile.checkers
    is_custom = not is_equal and compatibility.uses_custom_checker(candidate.schema, checkers)
    info, pulsar_version = candidate.schema.info, policy.profile.pulsar_version
    request = ComparisonRequest(info, pulsar_version, strategy, is_equal, replaced=frozenset(checkers))
    texts = list[Earlier]()
    findings = yield from compare_all(request, newest_first, texts if is_custom else None)
    if is_custom and not findings.too_complex:
        findings.refused += yield CustomCheck(partial(_check, candidate.schema, texts, strategy, policy))
    return _strictly(policy, findings, None if is_custom or is_equal else strategy)


def _check(
    candidate: Schema, newest_first: Sequence[Earlier], strategy: Strategy, policy: Policy
) -> tuple[Incompatibility, ...]:
    """Return the findings of the custom checkers."""
    before = [each.parsed(policy.profile.pulsar_version) for each in reversed(newest_first) if each.is_compared]
    return tuple(compatibility.check_plugged(candidate, before, strategy, policy.profile.checkers))


def _strictly(policy: Policy, findings: Findings, strategy: Strategy | None = None) -> Comparison:
    """Return the comparison under the policy's strictness. It refuses the candidate if the comparison was given up.

    `strategy` is the one under which Pulsar's own checkers ran, or None if they did not run.
    """
    refused, risks = compatibility.listed(findings.refused), compatibility.listed(findings.risks)
    thrown = None if strategy is None else broker_errors.broker_would_throw(strategy, refused)
    too_complex = (findings.too_complex,) if findings.too_complex else ()
    if policy.strictness is Strictness.STRICT:
        return Comparison((*refused, *risks, *too_complex), (), findings.notes, thrown, frozenset(risks))
    return Comparison((*refused, *too_complex), risks, findings.notes, thrown)


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


def _stored_text_note(schema: Schema, equal: VersionEntry) -> tuple[Incompatibility, ...]:
    if schema.info.content_hash == equal.content_hash:
        return ()
    ignored = "what Pulsar does not compare (docs, aliases, properties, spacing)"
    message = f"the schema equals version {equal.schema_version} but for {ignored}: what is stored stays as it was"
    return (Incompatibility("STORED_SCHEMA_UNCHANGED", "$", message, None, equal.schema_version),)
