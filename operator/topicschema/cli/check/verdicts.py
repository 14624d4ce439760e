"""Verdicts on given resources: what the webhook answers if they are applied."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import starmap
from typing import Final, NamedTuple

from topicschema.admission import object_size
from topicschema.api import SKIP_BROKER_DELETE_ANNOTATION
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY, SCHEMA_REGISTRY, TOPIC_SCHEMA
from topicschema.api.policies import NamespaceSchemaPolicySpec
from topicschema.api.topicschemas import DeletionPolicy, TopicSchemaSpec
from topicschema.cli.check import engine, processes
from topicschema.cli.check.engine import CheckRequest, CheckResult, ParseSchema, Refusal
from topicschema.cli.check.git_history import GitHistory, Past
from topicschema.cli.check.governing import Governing, Governors, registries_of
from topicschema.cli.check.resources import Manifest, Resource
from topicschema.cli.inputs.files import UsageError
from topicschema.core import formats
from topicschema.core.compatibility import Incompatibility
from topicschema.core.errors import InvalidSchemaError, StalledError, WaitingError
from topicschema.core.policy import Policy, violations
from topicschema.core.reasons import Reason
from topicschema.core.schemas import SchemaInfo
from topicschema.judging.clock import utc_now
from topicschema.judging.policy_rules import choices_of, counted_choices

_LARGE: Final = object_size.MAX_OBJECT_BYTES // 6
"""Bytes of a file with resources that may be too large. The API server writes some characters with six bytes."""
_UNRENDERED: Final = "--git reads manifests, not what kustomize or Helm makes of them: use --live"
_POLICY_STRATEGY: Final = "spec.schemaCompatibilityStrategy"


class HistorySource(StrEnum):
    """Source of the earlier versions."""

    NONE = "None"
    FILES = "Files"
    GIT = "Git"
    CLUSTER = "Cluster"


@dataclass(frozen=True, slots=True)
class ResourceVerdict:
    """Answer about one resource. `request` is None if it was not judged here: no topic, or an invalid manifest.

    `names` has the names of the earlier versions. If `is_unchanged` is True, an apply changes nothing that is judged.
    If `is_removed` is True, the resource is that of the REF's commit, and no given manifest has it.
    """

    manifest: Manifest
    answer: CheckResult
    source: HistorySource = HistorySource.NONE
    request: CheckRequest | None = None
    names: tuple[str, ...] = ()
    governing: Governing | None = None
    is_unchanged: bool = False
    is_removed: bool = False
    remark: str = ""

    @property
    def may_lack_versions(self) -> bool:
        """True if all earlier versions count, and the topic may have more than the given ones."""
        return self.source is HistorySource.FILES and self.request is not None and self.request.strategy.is_transitive


class NoAnswerError(Exception):
    """A cluster that gives no verdict."""


class _Topic(NamedTuple):
    """A TopicSchema to judge. `is_policy_changed` is True if a given manifest changes the policy that governs it."""

    manifest: Manifest
    governing: Governing
    is_policy_changed: bool


class _Result(NamedTuple):
    """Answer about a topic. `conflict` is the first reason against its newest version, if its policy is changed."""

    past: Past
    conflict: Incompatibility | None
    answer: CheckResult
    info: SchemaInfo | None = None
    is_unchanged: bool = False


@dataclass(slots=True)
class ManifestJudge:
    """Judge of given resources. `default` are the rules of topics without a policy."""

    manifests: Sequence[Manifest]
    default: Policy
    parse: ParseSchema
    git: GitHistory | None = None
    earlier: Past | None = None
    """The versions of `--history`, for the only TopicSchema."""
    names: tuple[str, ...] = ()
    now: str = field(default_factory=utc_now)

    def verdicts(self) -> list[ResourceVerdict]:
        """Return the verdict on each resource, in the given order."""
        _demand_unique(self.manifests)
        if self.git is not None:
            self._demand_unrendered(self.git)
        policies = list(filter(_is_policy, self.manifests))
        changed = {id(each) for each in policies if self._old_spec(each) != each.resource.policy.spec}
        topics, refused = self._topics(policies, changed)
        results = processes.each_result(self._result, topics, processes.processes_for(len(topics)))
        judged = list(zip(topics, results, strict=True))
        every = (
            *refused,
            *starmap(self._verdict, judged),
            *(self._policy(each, judged, is_changed=id(each) in changed) for each in policies),
            *(self._registry(each) for each in self.manifests if each.resource.kind == SCHEMA_REGISTRY.name),
        )
        verdicts = {id(each.manifest): each for each in every}
        return [verdicts[id(each)] for each in self.manifests]

    def _demand_unrendered(self, git: GitHistory) -> None:
        """Raise UsageError if Git has no topic of standard input: it then has the sources of manifests."""
        rendered = [each for each in self.manifests if each.path is None and _is_topic(each)]
        if rendered and not any(git.knows(each.resource.topic) for each in rendered):
            raise UsageError(f"no topic of standard input is in a manifest of {git.repository.ref}; {_UNRENDERED}")

    @property
    def _source(self) -> HistorySource:
        if self.git is not None:
            return HistorySource.GIT
        return HistorySource.NONE if self.earlier is None else HistorySource.FILES

    def _topics(
        self, policies: Sequence[Manifest], changed: Collection[int]
    ) -> tuple[list[_Topic], list[ResourceVerdict]]:
        """Return the TopicSchemas to judge, and the verdicts on those that are refused before. `changed` has ids."""
        registries = self.git.registries if self.git else registries_of(each.resource for each in self.manifests)
        governors = Governors(policies, self.default.profile.checkers, registries)
        owners: dict[tuple[str, str], Manifest] = {}
        topics, refused = list[_Topic](), list[ResourceVerdict]()
        for each in self.manifests:
            if not _is_topic(each):
                continue
            governing = self._governing(each.resource, governors)
            owner = owners.setdefault((each.resource.namespace, each.resource.topic), each)
            refusal = self._refusal(each, owner)
            if refusal is None:
                topics.append(_Topic(each, governing, id(governing.manifest) in changed))
            else:
                refused.append(ResourceVerdict(each, CheckResult(refusal=refusal), self._source, governing=governing))
        return topics, refused

    def _result(self, topic: _Topic) -> _Result:
        manifest, governing, is_policy_changed = topic
        spec = manifest.resource.spec
        past = self._past(manifest, governing)
        conflict = self._conflict(governing, past) if is_policy_changed else None
        is_unchanged = past.resource is not None and _is_unchanged(past.resource.spec, spec, governing.policy)
        past.resource = None  # only the rest is needed
        try:
            info = manifest.resource.info(governing.for_topic(spec, past.left, self.now))
        except InvalidSchemaError as error:
            return _Result(past, conflict, CheckResult(refusal=Refusal.of(error)))
        except WaitingError as error:
            raise UsageError(error.message) from None
        request = self._request(topic, past, info)
        answer = CheckResult(past.current) if is_unchanged else engine.answer(request, self.parse)
        return _Result(past, conflict, answer, info, is_unchanged)

    def _verdict(self, topic: _Topic, result: _Result) -> ResourceVerdict:
        manifest, governing, _ = topic
        if result.info is None:
            return ResourceVerdict(manifest, result.answer, self._source, governing=governing)
        request = self._request(topic, result.past, result.info)
        names = self.names or tuple(each[:8] for each in result.past.commits)
        answer = result.answer
        if governing.elsewhere is not None and not result.is_unchanged:
            answer = replace(answer, warnings=(_ungoverned(manifest.resource, governing.elsewhere), *answer.warnings))
        return ResourceVerdict(manifest, answer, self._source, request, names, governing, result.is_unchanged)

    def _request(self, topic: _Topic, past: Past, info: SchemaInfo) -> CheckRequest:
        spec = topic.manifest.resource.spec
        policy = topic.governing.for_topic(spec, past.left, self.now)
        return CheckRequest(info, tuple(past.versions), policy, choices=choices_of(spec), deleted=tuple(past.deleted))

    def _governing(self, resource: Resource, governors: Governors) -> Governing:
        pulsar_namespace = resource.topic.rpartition("/")[0]
        result = governors.find(resource.namespace, pulsar_namespace)
        elsewhere = governors.by_pulsar_namespace.get(pulsar_namespace)
        if result is None and self.git is not None:
            result = self.git.governing(resource.namespace, pulsar_namespace)
            elsewhere = elsewhere or self.git.policy_of(pulsar_namespace)
        return result or Governing(self.default, elsewhere=elsewhere)

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

    def _policy(
        self, manifest: Manifest, judged: Sequence[tuple[_Topic, _Result]], *, is_changed: bool
    ) -> ResourceVerdict:
        old, spec = self._old_spec(manifest), manifest.resource.policy.spec
        if old is not None:
            for path, was, is_ in (
                ("spec.registry", old.registry, spec.registry),
                ("spec.pulsarNamespace", old.pulsar_namespace, spec.pulsar_namespace),
            ):
                if was != is_:
                    return ResourceVerdict(manifest, CheckResult(refusal=_immutable(path, was)), self._source)
        governed = [(topic, result) for topic, result in judged if topic.governing.manifest is manifest]
        warnings = tuple(_conflict_warning(topic, result.conflict) for topic, result in governed if result.conflict)
        remark = f"; {len(warnings)} of {len(governed)} topics would not pass under it" if warnings else ""
        return ResourceVerdict(
            manifest, CheckResult(warnings=warnings), self._source, is_unchanged=not is_changed, remark=remark
        )

    def _registry(self, manifest: Manifest) -> ResourceVerdict:
        before = None if self.git is None else self.git.at_tip(manifest)
        is_unchanged = before is not None and not before.fault and before.registry == manifest.resource.registry
        return ResourceVerdict(manifest, CheckResult(), self._source, is_unchanged=is_unchanged)

    def _old_spec(self, policy: Manifest) -> NamespaceSchemaPolicySpec | None:
        before = None if self.git is None else self.git.at_tip(policy)
        try:
            return None if before is None else before.policy.spec
        except StalledError:
            return None

    def _conflict(self, governing: Governing, past: Past) -> Incompatibility | None:
        """Return the first reason of the policy against the resource or the newest version, or None."""
        if past.resource is None:
            return None
        spec = past.resource.spec
        policy = governing.for_topic(spec, past.left, self.now)
        choices = counted_choices(spec, policy)
        info = past.resource.info(policy)
        broken = violations(formats.as_stored(info), choices, policy)
        if broken or not past.versions:
            return broken[0] if broken else None
        *earlier, latest = past.versions
        answer = engine.answer(CheckRequest(latest, tuple(earlier), policy.unconstrained, choices=choices), self.parse)
        if answer.refusal is not None:
            return Incompatibility(answer.refusal.reason, answer.refusal.path, answer.refusal.message)
        return answer.incompatibilities[0] if answer.incompatibilities else None


def _conflict_warning(topic: _Topic, conflict: Incompatibility) -> Incompatibility:
    """Return the warning about a topic whose newest version the policy would refuse, as the webhook does."""
    after = "" if conflict.schema_version is None else f" after version {conflict.schema_version}"
    message = f"TopicSchema {topic.manifest.resource.name} at {conflict.path}{after}: {conflict.message}"
    return Incompatibility(conflict.rule, _POLICY_STRATEGY, message)


def _is_policy(manifest: Manifest) -> bool:
    return manifest.resource.kind == NAMESPACE_SCHEMA_POLICY.name


def _is_topic(manifest: Manifest) -> bool:
    return manifest.resource.kind == TOPIC_SCHEMA.name


def _is_unchanged(before: TopicSchemaSpec, now: TopicSchemaSpec, policy: Policy) -> bool:
    """Return True if the edit needs no judgment. One that sets deletionPolicy: Delete may be refused."""
    begins_deletion = now.deletion_policy is DeletionPolicy.DELETE is not before.deletion_policy
    may_be_refused = begins_deletion and not policy.constraints.allows_deletion
    return not may_be_refused and before.judged_fields == now.judged_fields


def _ungoverned(resource: Resource, policy: Resource) -> Incompatibility:
    """Return the warning about a resource whose Pulsar namespace has a policy in another Kubernetes namespace."""
    there, here = (each.namespace or "(none)" for each in (policy, resource))
    message = (
        f"policy {policy.name} governs {policy.pulsar_namespace} in the Kubernetes namespace {there}, and this "
        f"resource is in {here}: the webhook would admit it unjudged, and the operator would register nothing; give "
        "both the same metadata.namespace"
    )
    return Incompatibility(Reason.POLICY_NOT_FOUND, "metadata.namespace", message)


def removed(manifest: Manifest) -> ResourceVerdict:
    """Return the verdict on a resource that no given manifest has any more: the API server refuses no deletion."""
    warning = Incompatibility("ResourceRemoved", "metadata.name", f"if you delete it, {_deleted(manifest.resource)}")
    return ResourceVerdict(manifest, CheckResult(warnings=(warning,)), HistorySource.GIT, is_removed=True)


def _deleted(resource: Resource) -> str:
    if resource.kind == SCHEMA_REGISTRY.name:
        return f"policies of registry {resource.name} stop with {Reason.REGISTRY_NOT_FOUND}, and nothing is registered"
    if resource.kind == NAMESPACE_SCHEMA_POLICY.name:
        return (
            f"the webhook admits edits of topics in {resource.pulsar_namespace} unjudged, the operator registers none "
            "of them, and the broker keeps its settings"
        )
    topic, annotations = resource.written_topic, resource.document.value["metadata"].get("annotations") or {}
    if resource.spec.deletion_policy is DeletionPolicy.RETAIN or resource.spec.suspend:
        why = "suspend: true" if resource.spec.suspend else "deletionPolicy: Retain"
        return f"the operator and the broker keep the versions of {topic} ({why})"
    if annotations.get(SKIP_BROKER_DELETE_ANNOTATION) == "true":
        return f"the operator deletes its history of {topic}, and the broker keeps the versions"
    return (
        f"the operator deletes all versions of {topic}, in its history and at the broker (deletionPolicy: Delete), and "
        "consumers that need them for retained messages fail"
    )


def _immutable(path: str, before: str) -> Refusal:
    message = f"it cannot be changed from {before}; delete the resource and create another"
    return Refusal(Reason.INVALID_RESOURCE, message, path)


def _demand_unique(manifests: Sequence[Manifest]) -> None:
    first: dict[tuple[str, str, str], Manifest] = {}
    for each in manifests:
        other = first.setdefault(each.resource.key, each)
        if other is not each:
            places = f"{other.file}:{other.line} and {each.file}:{each.line}"
            raise UsageError(f"{each.resource.kind} {each.label} is given twice: {places}; check one cluster at a time")
