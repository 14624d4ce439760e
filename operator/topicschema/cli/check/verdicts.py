"""Verdicts on given resources: what the webhook answers if they are applied."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from topicschema.admission import object_size
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY
from topicschema.api.topicschemas import DeletionPolicy, TopicSchemaSpec
from topicschema.cli.check import engine
from topicschema.cli.check.engine import Answer, Parse, Question, Refusal
from topicschema.cli.check.git_history import GitHistory, Past
from topicschema.cli.check.governing import Governing, Governors
from topicschema.cli.check.resources import Manifest
from topicschema.cli.inputs.files import UsageError
from topicschema.core import formats
from topicschema.core.compatibility import Incompatibility
from topicschema.core.errors import InvalidSchemaError, StalledError, WaitingError
from topicschema.core.policy import Constraints, Policy, violations
from topicschema.core.reasons import Reason

_LARGE: Final = object_size.MAX_OBJECT_BYTES // 6
"""Bytes of a file with resources that may be too large. The API server writes some characters with six bytes."""
_UNRENDERED: Final = "--git reads manifests, not what kustomize or Helm makes of them: use --live"
_POLICY_STRATEGY: Final = "spec.schemaCompatibilityStrategy"


class Source(StrEnum):
    """Source of the earlier versions."""

    NONE = "None"
    FILES = "Files"
    GIT = "Git"
    CLUSTER = "Cluster"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Answer about one resource. `question` is None if it was not judged here: a policy, or an invalid manifest.

    `names` has the names of the earlier versions. If `is_unchanged` is True, an apply changes nothing that is judged.
    """

    manifest: Manifest
    answer: Answer
    source: Source = Source.NONE
    question: Question | None = None
    names: tuple[str, ...] = ()
    governing: Governing | None = None
    is_unchanged: bool = False
    remark: str = ""

    @property
    def may_lack_versions(self) -> bool:
        """True if all earlier versions count, and the topic may have more than the given ones."""
        return self.source is Source.FILES and self.question is not None and self.question.strategy.is_transitive


class NoAnswerError(Exception):
    """A cluster that gives no verdict."""


@dataclass(slots=True)
class Judge:
    """Judge of given resources. `default` are the rules of topics without a policy."""

    manifests: Sequence[Manifest]
    default: Policy
    parse: Parse
    git: GitHistory | None = None
    earlier: Past | None = None
    """The versions of `--history`, for the only TopicSchema."""
    names: tuple[str, ...] = ()
    _pasts: list[tuple[Governing, Past, Manifest]] = field(default_factory=list)

    def verdicts(self) -> list[Verdict]:
        """Return the verdict on each resource, in the given order."""
        _demand_unique(self.manifests)
        if self.git is not None:
            self._demand_unrendered(self.git)
        governors = Governors(filter(_is_policy, self.manifests), self.default.profile.checkers)
        owners: dict[tuple[str, str], Manifest] = {}
        result = {}
        for each in self.manifests:
            if not _is_policy(each):
                key = (each.resource.namespace, each.resource.topic)
                result[id(each)] = self._topic(each, governors, owners.setdefault(key, each))
        for each in filter(_is_policy, self.manifests):
            result[id(each)] = self._policy(each)
        return [result[id(each)] for each in self.manifests]

    def _demand_unrendered(self, git: GitHistory) -> None:
        """Raise UsageError if Git has no topic of standard input: it then has the sources of manifests."""
        rendered = [each for each in self.manifests if each.path is None and not _is_policy(each)]
        if rendered and not any(git.knows(each.resource.topic) for each in rendered):
            raise UsageError(f"no topic of standard input is in a manifest of {git.repository.ref}; {_UNRENDERED}")

    @property
    def _source(self) -> Source:
        if self.git is not None:
            return Source.GIT
        return Source.NONE if self.earlier is None else Source.FILES

    def _topic(self, manifest: Manifest, governors: Governors, owner: Manifest) -> Verdict:
        resource = manifest.resource
        spec, pulsar_namespace = resource.spec, resource.topic.rpartition("/")[0]
        governing = self._governing(resource.namespace, governors, pulsar_namespace)
        past = self._past(manifest, governing)
        refusal = self._refusal(manifest, owner)
        if refusal is not None:
            return Verdict(manifest, Answer(refusal=refusal), self._source, governing=governing)
        self._pasts.append((governing, past, manifest))
        policy = governing.for_topic(spec, past.left)
        own = spec.schema_compatibility_strategy
        is_unchanged = past.resource is not None and _judged(past.resource.spec) == _judged(spec)
        try:
            info = resource.info(policy)
            question = Question(info, tuple(past.versions), policy, topic_strategy=own)
            answer = Answer(past.current) if is_unchanged else engine.answer(question, self.parse)
        except InvalidSchemaError as error:
            return Verdict(manifest, Answer(refusal=Refusal.of(error)), self._source, governing=governing)
        except WaitingError as error:
            raise UsageError(error.message) from None
        names = self.names or tuple(each[:8] for each in past.commits)
        return Verdict(manifest, answer, self._source, question, names, governing, is_unchanged)

    def _governing(self, namespace: str, governors: Governors, pulsar_namespace: str) -> Governing:
        result = governors.find(namespace, pulsar_namespace)
        if result is None and self.git is not None:
            result = self.git.governing(namespace, pulsar_namespace)
        return result or Governing(self.default)

    def _past(self, manifest: Manifest, governing: Governing) -> Past:
        if self.git is not None:
            past = self.git.past(manifest, governing, self.parse)
            if manifest.path is None and past.resource is None and self.git.knows(manifest.resource.topic):
                raise UsageError(f"no text of {manifest.label} in Git is a schema that was accepted; {_UNRENDERED}")
            return past
        return self.earlier or Past()

    def _refusal(self, manifest: Manifest, owner: Manifest) -> Refusal | None:
        """Return what the API server or the webhook refuses before it judges the schema."""
        if owner is not manifest:
            return Refusal(
                Reason.TOPIC_ALREADY_CLAIMED, f"TopicSchema {owner.resource.name} already has this topic", "spec.topic"
            )
        before = None if self.git is None else self.git.at_tip(manifest)
        if before is not None and before.written_topic != manifest.resource.written_topic:
            return _immutable("spec.topic", before.written_topic)
        if len(manifest.content) > _LARGE:
            size = object_size.encoded_size(manifest.resource.document.value)
            if size > object_size.MAX_OBJECT_BYTES:
                message = f"the resource has {size:,} bytes as the API server stores it"
                return Refusal("ObjectTooLarge", f"{message}; the most are {object_size.MAX_OBJECT_BYTES:,}", "spec")
        return None

    def _policy(self, manifest: Manifest) -> Verdict:
        spec = manifest.resource.policy.spec
        before = None if self.git is None else self.git.at_tip(manifest)
        try:
            old = None if before is None else before.policy.spec
        except StalledError:
            old = None
        if old is not None:
            for path, was, is_ in (
                ("spec.pulsarCluster", old.pulsar_cluster, spec.pulsar_cluster),
                ("spec.pulsarNamespace", old.pulsar_namespace, spec.pulsar_namespace),
            ):
                if was != is_:
                    return Verdict(manifest, Answer(refusal=_immutable(path, was)), self._source)
        warnings = () if old == spec else tuple(self._conflicts(manifest))
        topics = sum(governing.manifest is manifest for governing, *_ in self._pasts)
        remark = f"; {len(warnings)} of {topics} topics would not pass under it" if warnings else ""
        return Verdict(manifest, Answer(warnings=warnings), self._source, is_unchanged=old == spec, remark=remark)

    def _conflicts(self, manifest: Manifest) -> Iterator[Incompatibility]:
        """Yield a warning for each topic whose newest version the policy would refuse, as the webhook does."""
        for governing, past, topic in self._pasts:
            finding = self._conflict(governing, past) if governing.manifest is manifest else None
            if finding is not None:
                after = "" if finding.schema_version is None else f" after version {finding.schema_version}"
                message = f"TopicSchema {topic.resource.name} at {finding.path}{after}: {finding.message}"
                yield Incompatibility(finding.rule, _POLICY_STRATEGY, message)

    def _conflict(self, governing: Governing, past: Past) -> Incompatibility | None:
        """Return the first reason against the resource or the newest version, or None."""
        if past.resource is None:
            return None
        spec = past.resource.spec
        own, policy = spec.schema_compatibility_strategy, governing.for_topic(spec, past.left)
        info = past.resource.info(policy)
        broken = violations(formats.as_stored(info), own, policy.constraints)
        if broken or not past.versions:
            return broken[0] if broken else None
        *earlier, latest = past.versions
        unconstrained = replace(policy, constraints=Constraints())
        answer = engine.answer(Question(latest, tuple(earlier), unconstrained, topic_strategy=own), self.parse)
        if answer.refusal is not None:
            return Incompatibility(answer.refusal.reason, answer.refusal.path, answer.refusal.message)
        return answer.incompatibilities[0] if answer.incompatibilities else None


def _is_policy(manifest: Manifest) -> bool:
    return manifest.resource.kind == NAMESPACE_SCHEMA_POLICY.name


def _judged(spec: TopicSchemaSpec) -> TopicSchemaSpec:
    """Return the spec without the values whose edits need no judgment."""
    return replace(spec, suspend=False, deletion_policy=DeletionPolicy.RETAIN)


def _immutable(path: str, before: str) -> Refusal:
    message = f"it cannot be changed from {before}; delete the resource and create another"
    return Refusal(Reason.INVALID_RESOURCE, message, path)


def _demand_unique(manifests: Sequence[Manifest]) -> None:
    first: dict[tuple[str, str, str], Manifest] = {}
    for each in manifests:
        other = first.setdefault((each.resource.kind, each.resource.namespace, each.resource.name), each)
        if other is not each:
            places = f"{other.file}:{other.line} and {each.file}:{each.line}"
            raise UsageError(f"{each.resource.kind} {each.label} is given twice: {places}; check one cluster at a time")
