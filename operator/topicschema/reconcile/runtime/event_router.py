"""Event handlers of the watches. They select the keys to enqueue by the objects' metadata only.

An event enqueues every key that the change may affect. The handlers do not compare objects, except labels and
annotations: if only those of other owners change, a Ready topic is not enqueued.

A user waits for the result of an edit. So an edited object has priority over listed objects, whose reconciles can take
long. Policies have priority, too, because they affect many topics.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from topicschema.api import GROUP
from topicschema.api.kinds import JOB, NAMESPACE, NAMESPACE_SCHEMA_POLICY, POD, SCHEMA_REGISTRY, TOPIC_SCHEMA
from topicschema.core.topics import TopicKey
from topicschema.reconcile.runtime.object_index import ObjectIndex
from topicschema.reconcile.runtime.own_writes import OwnWrites
from topicschema.reconcile.runtime.work_queue import HIGH_PRIORITY, Key
from topicschema.validation.job.manifest import OWNER_ANNOTATION, POLICY_LABEL

_Metadata = Mapping[str, Any]
_COUNT_SECONDS = 3.0


class EventRouter:
    """Handlers of watch events and lists. They add keys to the work queue."""

    def __init__(
        self,
        index: ObjectIndex,
        own_writes: OwnWrites,
        forget_registry: Callable[[str], None],
        enqueue: Callable[[Key, float], None],
    ) -> None:
        self._index = index
        self._own_writes = own_writes
        self._forget_registry = forget_registry
        self._enqueue = enqueue
        self._generations: dict[Key, tuple[str, int]] = {}
        self._labels: dict[str, Mapping[str, str]] = {}
        self._hashes: dict[Key, int] = {}

    def on_event(self, plural: str, metadata: _Metadata, *, is_deleted: bool, is_listed: bool = False) -> None:
        """Handle an object that was created, changed or deleted, or is an item of a list (`is_listed`)."""
        key = Key(plural, metadata.get("namespace", ""), metadata["name"])
        if plural == NAMESPACE.plural:
            self._on_namespace(key.name, metadata)
            if is_deleted:
                self._labels.pop(key.name, None)
        elif plural in (JOB.plural, POD.plural):
            self._on_job_or_pod(plural, metadata, is_deleted=is_deleted)
        else:
            if plural == NAMESPACE_SCHEMA_POLICY.plural:
                self._on_policy(key, metadata)
            if plural == SCHEMA_REGISTRY.plural:
                self._on_registry(key, metadata)
            is_relevant = self._is_relevant(key, metadata)
            if is_deleted:
                self._forget(key)
            self._index.known[plural].add(key)
            if is_deleted or (is_relevant and self._own_writes.is_external(key, metadata["resourceVersion"])):
                self._enqueue(key, 0.0 if is_listed and plural == TOPIC_SCHEMA.plural else HIGH_PRIORITY)

    def on_list(self, plural: str, items: Iterable[_Metadata]) -> None:
        """Handle a complete list of a kind. A known object that it lacks was deleted while no watch was open."""
        listed = {Key(plural, item.get("namespace", ""), item["name"]) for item in items}
        known = self._index.known.get(plural)
        if known is None:
            return
        for key in known - listed:
            self._forget(key)
            if plural == SCHEMA_REGISTRY.plural:
                self._forget_registry(key.name)
            self._enqueue(key, HIGH_PRIORITY)
        known |= listed
        if plural == TOPIC_SCHEMA.plural and not self._index.are_topics_listed:
            self._index.are_topics_listed = True
            for policy in tuple(self._index.known[NAMESPACE_SCHEMA_POLICY.plural]):
                self._enqueue(policy, HIGH_PRIORITY)

    def on_history(self, history: TopicKey) -> None:
        """Handle a history that another client changed. It counts for its policy, even without a TopicSchema."""
        for topic in self._index.topics_of_history(history):
            self._enqueue(topic, 0.0)
        for policy in self._index.policies_of_pulsar_namespace(history.topic.pulsar_namespace):
            self._enqueue(policy, _COUNT_SECONDS)

    def on_secret(self, name: str) -> None:
        """Handle a Secret in the operator's namespace that changed."""
        for registry, names in self._index.secrets.items():
            if name in names:
                self._enqueue(registry, HIGH_PRIORITY)

    def _is_relevant(self, key: Key, metadata: _Metadata) -> bool:
        """Return True if more than labels and annotations may have changed since the last event."""
        if key.plural != TOPIC_SCHEMA.plural:
            return True
        before, summary = self._hashes.get(key), self._index.summary(key)
        self._hashes[key] = _hash_of_relevant_fields(metadata)
        return self._hashes[key] != before or summary is None or not summary.is_ready

    def _forget(self, key: Key) -> None:
        self._generations.pop(key, None)
        self._hashes.pop(key, None)

    def _on_policy(self, key: Key, metadata: _Metadata) -> None:
        if self._is_new_generation(key, metadata):
            # The first reconcile of a new policy enqueues the topics that it governs.
            for topic in self._index.topics_of_policy(key):
                self._enqueue(topic, 0.0)

    def _on_registry(self, key: Key, metadata: _Metadata) -> None:
        self._forget_registry(key.name)
        if self._is_new_generation(key, metadata):
            for policy in self._index.policies_of_registry(key.name):
                self._enqueue(policy, HIGH_PRIORITY)

    def _is_new_generation(self, key: Key, metadata: _Metadata) -> bool:
        generation = (metadata.get("uid", ""), metadata.get("generation", 0))
        before, self._generations[key] = self._generations.get(key), generation
        return before != generation

    def _on_namespace(self, namespace: str, metadata: _Metadata) -> None:
        labels = metadata.get("labels") or {}
        if self._labels.get(namespace) != labels:
            self._labels[namespace] = labels
            for policy in self._index.policies_in(namespace):
                self._enqueue(policy, HIGH_PRIORITY)

    def _on_job_or_pod(self, plural: str, metadata: _Metadata, *, is_deleted: bool) -> None:
        """Enqueue the owner of the Job or pod with priority, because a user waits for it. A pod ends before its Job."""
        owner = owner_key(metadata)
        if owner is None:
            return
        is_there = not is_deleted and not metadata.get("deletionTimestamp")
        if plural == JOB.plural and owner.plural == TOPIC_SCHEMA.plural and is_there:
            self._index.mark_job(owner)
        self._enqueue(owner, HIGH_PRIORITY)


def _hash_of_relevant_fields(metadata: _Metadata) -> int:
    """Return a hash of the metadata without other owners' labels and annotations.

    The metadata has the spec's generation, and in managedFields the writers and times of the status fields.
    """
    ours = {
        (what, name): value
        for what in ("labels", "annotations")
        for name, value in (metadata.get(what) or {}).items()
        if name.startswith(f"{GROUP}/")
    }
    managers = [each for each in metadata.get("managedFields") or () if each.get("subresource") == "status"]
    others = {"labels", "annotations", "managedFields", "resourceVersion"}
    rest = {name: value for name, value in metadata.items() if name not in others}
    return hash(json.dumps([rest, managers, sorted(ours.items())], sort_keys=True))


def owner_key(metadata: _Metadata) -> Key | None:
    """Return the TopicSchema or policy that the metadata of a Job or pod names as its owner, or None."""
    namespace, _, name = (metadata.get("annotations") or {}).get(OWNER_ANNOTATION, "").partition("/")
    kind = NAMESPACE_SCHEMA_POLICY if POLICY_LABEL in (metadata.get("labels") or {}) else TOPIC_SCHEMA
    return Key(kind.plural, namespace, name) if namespace and name else None
