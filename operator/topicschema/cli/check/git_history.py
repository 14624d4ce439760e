"""Versions of topics by the history of their manifests in Git.

Each commit of the first-parent history counts as an apply of all its manifests, as a GitOps tool does it. A text
becomes a version if the webhook accepts it at that commit: under the policy that Git has there, or else under the one
that judges now. A refused text is tried again if the policy changes. A policy has its present registry at each commit.
"""

import os
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY, SCHEMA_REGISTRY
from topicschema.api.topicschemas import DeletionPolicy
from topicschema.cli.check import engine
from topicschema.cli.check.engine import CheckRequest, ParseSchema
from topicschema.cli.check.governing import Governing, governing_of, registries_of
from topicschema.cli.check.resources import MARK, SUFFIXES, Manifest, ManifestReader, Resource
from topicschema.cli.inputs.files import STANDARD_INPUT, UsageError
from topicschema.cli.inputs.git import Commit, Repository
from topicschema.core.checkers import Checkers
from topicschema.core.errors import StalledError
from topicschema.core.schemas import SchemaInfo
from topicschema.core.strategies import Strategy
from topicschema.judging.policy_rules import choices_of

_MOST_NAMES = 50
_RULING = tuple(kind.name.encode() for kind in (NAMESPACE_SCHEMA_POLICY, SCHEMA_REGISTRY))


class FilePlace(NamedTuple):
    """A file in the repository ("" for standard input), and the Kubernetes namespace of a resource in it."""

    path: str
    namespace: str


class Change(NamedTuple):
    """A resource at a place after a commit, or None if it was removed. `commit` counts from 0, oldest first."""

    commit: int
    place: FilePlace
    resource: Resource | None


@dataclass(slots=True)
class Past:
    """State of a topic in the cluster: its versions, oldest first, and the resource that was accepted last, if any.

    `commits` has the commit of each version. `current` is the version of the resource, if it has one. `left` is the
    topic's own strategy that the broker keeps. `deleted` are the versions of deleted histories.
    """

    versions: list[SchemaInfo] = field(default_factory=list)
    commits: list[str] = field(default_factory=list)
    resource: Resource | None = None
    current: int | None = None
    left: Strategy | None = None
    deleted: list[SchemaInfo] = field(default_factory=list)

    def delete(self) -> None:
        """Delete the resource, and under deletionPolicy Delete its history."""
        spec = None if self.resource is None else self.resource.spec
        if spec is not None and spec.deletion_policy is DeletionPolicy.DELETE and not spec.suspend:
            self.deleted += self.versions
            self.versions.clear()
            self.commits.clear()
            self.left = None
        self.resource = self.current = None

    def apply(self, resource: Resource, governing: Governing, commit: Commit, parse: ParseSchema) -> None:
        """Apply a resource if the API server and the webhook accept it. A suspended one registers nothing.

        An exception of the policy applies if it applied at the time of the commit.
        """
        if resource.fault is not None:
            return
        spec = resource.spec
        policy = governing.for_topic(spec, self.left, commit.time)
        try:
            info = resource.info(policy)
        except StalledError:
            return
        own = spec.schema_compatibility_strategy
        versions, deleted = tuple(self.versions), tuple(self.deleted)
        request = CheckRequest(info, versions, policy, choices=choices_of(spec), deleted=deleted)
        answer = engine.answer(request, parse)
        if not answer.is_compatible:
            return
        self.resource = resource
        if own is not None:
            self.left = None if own is Strategy.UNDEFINED else own
        self.current = answer.equal_to
        if answer.equal_to is None and not spec.suspend:
            self.current = len(self.versions)
            self.versions.append(info)
            self.commits.append(commit.hash)


class GitHistory:
    """Resources of a repository's first-parent history: those of the given topics, all policies, and the registries."""

    def __init__(
        self, repository: Repository, manifests: Collection[Manifest], reader: ManifestReader, checkers: Checkers
    ) -> None:
        self.repository = repository
        self._reader = reader
        self._checkers = checkers
        self._topics = defaultdict[str, list[Change]](list)
        self._policies = defaultdict[str, list[Change]](list)
        self._commits: list[Commit] = []
        self._places = {id(each): self._place(each) for each in manifests}
        self._paths = {place.path for place in self._places.values()}
        self._tip: dict[str, tuple[Resource, ...]] = {}
        self._contents: dict[str, str] = {}
        """The content's id of each file at the REF's commit that may have resources."""
        self._living: dict[str, set[tuple[str, str]]] = {}
        self._rulings: dict[int, Governing | None] = {}
        self._read({each.resource.topic for each in manifests})
        at_tip = registries_of(each for file in self._tip.values() for each in file)
        self.registries = at_tip | registries_of(each.resource for each in manifests)
        """The registries by name: the given ones, and the others at the REF's commit."""

    def past(self, manifest: Manifest, governing: Governing, parse: ParseSchema) -> Past:
        """Return the state of a given topic at the REF's commit."""
        place, topic = self._places[id(manifest)], manifest.resource.topic
        changes = self._without_others(self._topics[topic], place, topic)
        rulings = self._rulings_of(place, topic.rpartition("/")[0], governing)
        past, current, policies = Past(), dict[FilePlace, Resource](), dict[FilePlace, Resource]()
        before: tuple[Resource, Governing] | None = None
        by_commit = defaultdict[int, list[tuple[dict[FilePlace, Resource], Change]]](list)
        for state, each in [*((policies, each) for each in rulings), *((current, each) for each in changes)]:
            by_commit[each.commit].append((state, each))
        for commit, some in sorted(by_commit.items()):
            for state, each in some:
                state.pop(each.place, None)
                if each.resource is not None:
                    state[each.place] = each.resource
            resource = current.get(place) or next(reversed(current.values()), None)
            if resource is None:
                past.delete()
                before = None
                continue
            rules = self._rules(next(reversed(policies.values()), None)) or governing
            if before is None or before[0] is not resource or before[1] is not rules:
                before = resource, rules
                past.apply(resource, rules, self._commits[commit], parse)
        return past

    def knows(self, topic: str) -> bool:
        """Return True if a commit has a manifest of the topic."""
        return bool(self._topics.get(topic))

    def at_tip(self, manifest: Manifest) -> Resource | None:
        """Return the resource of that kind and name at the REF's commit: in the same file, or else in any file."""
        here = self._tip.get(self._places[id(manifest)].path, ())
        every = (each for file in (here, *self._tip.values()) for each in file)
        return next((each for each in every if each.key == manifest.resource.key), None)

    def governing(self, namespace: str, pulsar_namespace: str) -> Governing | None:
        """Return the policy of a Pulsar namespace at the REF's commit, if it is the only one there."""
        result = [each for place, each in self._policies_of(pulsar_namespace) if place.namespace == namespace]
        return self._rules(result[0]) if len(result) == 1 else None

    def policy_of(self, pulsar_namespace: str) -> Resource | None:
        """Return a policy of the Pulsar namespace at the REF's commit, in any Kubernetes namespace."""
        return next((each for _, each in self._policies_of(pulsar_namespace)), None)

    def removed(self, names: Collection[str], manifests: Collection[Manifest]) -> Iterator[Manifest]:
        """Yield the resources at the REF's commit in these files and folders that are not among the manifests."""
        present = {each.resource.key for each in manifests}
        named = [(self.repository.path_of(Path(each)), Path(each).is_dir()) for each in names if each != STANDARD_INPUT]
        paths = [
            path
            for path in self._contents
            if any(_is_below(path, *each) for each in named)
            and (path not in self._paths or not present.issuperset(each.key for each in self._tip[path]))
        ]
        contents = self.repository.contents([self._contents[path] for path in paths]) if paths else ()
        for path, content in zip(paths, contents, strict=True):
            file = self.repository.root / path
            for each in self._resources(path, content):
                if each.key not in present and each.fault is None:
                    present.add(each.key)
                    yield Manifest(os.path.relpath(file), file, content, each)

    def _policies_of(self, pulsar_namespace: str) -> Iterator[tuple[FilePlace, Resource]]:
        """Yield the policies of the Pulsar namespace at the REF's commit, with their places."""
        latest = {each.place: each.resource for each in self._policies[pulsar_namespace]}
        yield from ((place, each) for place, each in latest.items() if each is not None)

    def _place(self, manifest: Manifest) -> FilePlace:
        path = "" if manifest.path is None else self.repository.path_of(manifest.path)
        return FilePlace(path, manifest.resource.namespace)

    def _rules(self, policy: Resource | None) -> Governing | None:
        """Return the rules of a policy in Git, or None if it is invalid."""
        if policy is None:
            return None
        if id(policy) not in self._rulings:
            try:
                self._rulings[id(policy)] = governing_of(policy, self._checkers, self.registries)
            except StalledError:
                self._rulings[id(policy)] = None
        return self._rulings[id(policy)]

    def _read(self, topics: Collection[str]) -> None:
        suffixes = {*SUFFIXES, *(PurePosixPath(path).suffix or path for path in self._paths if path)}
        commits = list(self.repository.commits(suffixes))
        ids = dict.fromkeys(id_ for each in commits for id_ in each.changes.values() if id_)
        unread = self.repository.contents(ids)
        contents: dict[str | None, bytes] = {None: b""}
        names = [topic.rpartition("/")[2].encode() for topic in topics]
        for number, commit in enumerate(commits):
            self._commits.append(commit)
            for path, id_ in commit.changes.items():
                if id_ not in contents:  # then it is the next of `ids`
                    text = next(unread)
                    contents[id_] = text if MARK in text else b""
                content = contents[id_]
                if id_ and content:
                    self._contents[path] = id_
                else:
                    self._contents.pop(path, None)
                is_read = path in self._paths or _names_any(content, names)
                self._take(number, path, self._resources(path, content) if is_read else (), topics)

    def _take(self, number: int, path: str, resources: tuple[Resource, ...], topics: Collection[str]) -> None:
        now = {_identity(each): each for each in resources}
        for kind, namespace, key in {**dict.fromkeys(map(_identity, self._tip.get(path, ()))), **now}:
            if kind == SCHEMA_REGISTRY.name:
                continue
            changes = self._policies[key] if kind == NAMESPACE_SCHEMA_POLICY.name else self._topics[key]
            if kind == NAMESPACE_SCHEMA_POLICY.name or key in topics:
                changes.append(Change(number, FilePlace(path, namespace), now.get((kind, namespace, key))))
        self._tip[path] = resources

    def _resources(self, path: str, content: bytes) -> tuple[Resource, ...]:
        try:
            return self._reader.resources(path, content) if MARK in content else ()
        except UsageError:  # kubectl could not apply it, either
            return ()

    def _without_others(self, changes: list[Change], own: FilePlace, key: str) -> list[Change]:
        """Return the changes without those at places that the working tree still has: they are for other clusters."""
        others = {each for each in {change.place for change in changes} - {own} if self._lives(each, key)}
        if not own.path:
            same = {each for each in others if each.namespace in (own.namespace, "")}
            if len(same) > 1:
                places = " and ".join(sorted(each.path for each in same))
                raise UsageError(f"{key} is in {places}; name the file of one cluster instead of standard input")
            others -= same
        return [each for each in changes if each.place not in others]

    def _lives(self, place: FilePlace, key: str) -> bool:
        if place.path not in self._living:
            try:
                content = (self.repository.root / place.path).read_bytes()
            except OSError:
                content = b""
            self._living[place.path] = {_identity(each)[1:] for each in self._resources(place.path, content)}
        return (place.namespace, key) in self._living[place.path]

    def _rulings_of(self, place: FilePlace, pulsar_namespace: str, governing: Governing) -> list[Change]:
        namespaces = (place.namespace,) if place.path else (place.namespace, "")
        changes = [each for each in self._policies[pulsar_namespace] if each.place.namespace in namespaces]
        own = None if governing.manifest is None else self._places[id(governing.manifest)]
        return self._without_others(changes, own, pulsar_namespace) if own and own.path else changes


def _identity(resource: Resource) -> tuple[str, str, str]:
    is_policy = resource.kind == NAMESPACE_SCHEMA_POLICY.name
    return resource.kind, resource.namespace, resource.pulsar_namespace if is_policy else resource.topic


def _is_below(path: str, name: str, is_folder: bool) -> bool:  # noqa: FBT001
    """Return True if a command line with that file or folder reads the path, both as the repository has them."""
    if not is_folder:
        return path == name
    folder = "" if name == "." else f"{name}/"
    is_hidden = any(part.startswith(".") for part in path.removeprefix(folder).split("/")[:-1])
    return path.startswith(folder) and path.lower().endswith(SUFFIXES) and not is_hidden


def _names_any(content: bytes, names: Collection[bytes]) -> bool:
    """Return True if the content may be about one of the names, or is a policy or a registry."""
    if len(names) > _MOST_NAMES or any(each in content for each in _RULING):
        return True
    return any(not name.isalnum() or name in content for name in names)
