"""What a change out there means: which keys it rings. It looks at who may be touched, not at what changed.

Labels and annotations are the exception: an edit of theirs alone rings no topic that is Ready, unless they are ours.

Whoever edits something waits for it: that goes ahead of what was there all along, which a broker may take long to look
through. So do policies, for what they say holds for many.

Whoever watches (the controller's door) tells of lists and events here; only metadata is needed.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from topicschema.api import GROUP, PULSAR_NAMESPACES_ANNOTATION
from topicschema.api.kinds import JOB, NAMESPACE, NAMESPACE_SCHEMA_POLICY, POD, SCHEMA_HISTORY, TOPIC_SCHEMA
from topicschema.reconcile.object_index import Neighbours
from topicschema.reconcile.own_writes import Echoes
from topicschema.reconcile.validating_queue import owner_key
from topicschema.reconcile.work_queue import AHEAD, Key
from topicschema.spark.jobs import TOPIC_LABEL

_Metadata = Mapping[str, Any]


def history_key(history: str) -> Key:
    """The key of a topic's record; all of them are in one namespace."""
    return Key(SCHEMA_HISTORY.plural, "", history)


class Doorbell:
    """Turns what is heard of objects into rings."""

    def __init__(self, neighbours: Neighbours, echoes: Echoes, ring: Callable[[Key, float], None]) -> None:
        self._neighbours = neighbours
        self._echoes = echoes
        self._ring = ring
        self._generations: dict[Key, tuple[str, int]] = {}
        self._annotations: dict[str, str] = {}
        self._hashes: dict[Key, int] = {}

    def heard(self, plural: str, metadata: _Metadata, *, is_deleted: bool, is_listed: bool = False) -> None:
        """One object exists (`is_listed`: so a list tells), has changed, or is gone."""
        key = Key(plural, metadata.get("namespace", ""), metadata["name"])
        if plural == NAMESPACE.plural:
            self._heard_of_namespace(key.name, metadata)
            if is_deleted:
                self._annotations.pop(key.name, None)
        elif plural in (JOB.plural, POD.plural):
            self._heard_of_run(plural, metadata, is_deleted=is_deleted)
        elif plural == SCHEMA_HISTORY.plural:
            self._heard_of_history(history_key(key.name), metadata, is_deleted=is_deleted)
        else:
            if plural == NAMESPACE_SCHEMA_POLICY.plural:
                self._heard_of_policy(key, metadata)
            is_other = self._is_other(key, metadata)
            if is_deleted:
                self._forget(key)
            self._neighbours.known[plural].add(key)
            if is_deleted or (is_other and self._echoes.is_news(key, metadata["resourceVersion"])):
                self._ring(key, 0.0 if is_listed and plural == TOPIC_SCHEMA.plural else AHEAD)

    def listed(self, plural: str, items: Iterable[_Metadata]) -> None:
        """A whole list of a kind has come: what is known and not in it was deleted while nobody listened."""
        listed = {Key(plural, item.get("namespace", ""), item["name"]) for item in items}
        if plural == SCHEMA_HISTORY.plural:
            names = {key.name for key in listed}
            for key in self._echoes.existing(plural):
                if key.name not in names:
                    self._ring_topics_of(key)
            return
        known = self._neighbours.known.get(plural)
        if known is None:
            return
        for key in known - listed:
            self._forget(key)
            self._ring(key, AHEAD)
        known |= listed
        if plural == TOPIC_SCHEMA.plural and not self._neighbours.are_topics_listed:
            self._neighbours.are_topics_listed = True
            for policy in tuple(self._neighbours.known[NAMESPACE_SCHEMA_POLICY.plural]):
                self._ring(policy, AHEAD)

    def _is_other(self, key: Key, metadata: _Metadata) -> bool:
        """Return whether a pass might see more than labels and annotations that have changed since the last event."""
        if key.plural != TOPIC_SCHEMA.plural:
            return True
        before, sight = self._hashes.get(key), self._neighbours.sight(key)
        self._hashes[key] = _hash_of_what_is_read(metadata)
        return self._hashes[key] != before or sight is None or not sight.is_ready

    def _forget(self, key: Key) -> None:
        self._generations.pop(key, None)
        self._hashes.pop(key, None)

    def _heard_of_policy(self, key: Key, metadata: _Metadata) -> None:
        generation = (metadata.get("uid", ""), metadata.get("generation", 0))
        if self._generations.get(key) == generation:
            return
        self._generations[key] = generation
        # Of a policy that is new, its first pass tells which topics it governs.
        for topic in self._neighbours.topics_of_policy(key):
            self._ring(topic, 0.0)

    def _heard_of_namespace(self, namespace: str, metadata: _Metadata) -> None:
        annotation = (metadata.get("annotations") or {}).get(PULSAR_NAMESPACES_ANNOTATION, "")
        if self._annotations.get(namespace) != annotation:
            self._annotations[namespace] = annotation
            for policy in self._neighbours.policies_in(namespace):
                self._ring(policy, AHEAD)

    def _heard_of_history(self, key: Key, metadata: _Metadata, *, is_deleted: bool) -> None:
        if is_deleted or self._echoes.is_news(key, metadata["resourceVersion"]):
            self._ring_topics_of(key)

    def _heard_of_run(self, plural: str, metadata: _Metadata, *, is_deleted: bool) -> None:
        """Its topic looks at what it came to, ahead of others: somebody waits for it. A pod ends before its Job."""
        topic = owner_key(metadata) if plural == JOB.plural else self._labelled(metadata)
        if topic is None:
            return
        if plural == JOB.plural and not is_deleted and not metadata.get("deletionTimestamp"):
            self._neighbours.heard_of_run(topic)
        self._ring(topic, AHEAD)

    def _labelled(self, metadata: _Metadata) -> Key | None:
        """The topic that a pod's label names; of a name that is too long for a label only the Job tells."""
        name = (metadata.get("labels") or {}).get(TOPIC_LABEL, "")
        topic = Key(TOPIC_SCHEMA.plural, metadata.get("namespace", ""), name)
        return topic if topic in self._neighbours.known[TOPIC_SCHEMA.plural] else None

    def _ring_topics_of(self, history: Key) -> None:
        for topic in self._neighbours.of_history(history.name):
            self._ring(topic, 0.0)


def _hash_of_what_is_read(metadata: _Metadata) -> int:
    """Return a hash that changes with everything but labels and annotations of others.

    Metadata tells of the spec by its generation, and of the status by who manages which of its fields since when.
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
