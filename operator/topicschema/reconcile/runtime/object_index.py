"""The index of known objects: which keys share a topic, a history or a policy, and a summary of each topic.

It is in memory only; the first reconcile of each object fills it again after a restart. No decision rests on it: it
says which keys to enqueue, and a policy's status counts the summaries.
"""

from collections import defaultdict
from dataclasses import dataclass

from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY, TOPIC_SCHEMA
from topicschema.core.strategies import Strategy
from topicschema.core.topics import PulsarNamespaceKey
from topicschema.reconcile.runtime.work_queue import Key


@dataclass(frozen=True, slots=True)
class TopicSummary:
    """The summary of a TopicSchema as of its last reconcile.

    `topic` is tenant/namespace/topic, "" where the spec cannot be read; `history` the name of its record, once known,
    and `latest` the number of its newest version.
    `lost_claim`: another resource holds its topic.
    """

    topic: str = ""
    pulsar_namespace: str = ""
    history: str | None = None
    strategy: Strategy | None = None
    latest: int | None = None
    is_ready: bool = False
    is_incompatible: bool = False
    lost_claim: bool = False


class ObjectIndex:
    """An index of objects by what they share.

    `known` are all keys of events and lists, by plural, reconciled or not; `are_topics_listed` says that the first list
    of topics was handled, so that `known` has all of them.
    """

    def __init__(self) -> None:
        self.known: dict[str, set[Key]] = {TOPIC_SCHEMA.plural: set(), NAMESPACE_SCHEMA_POLICY.plural: set()}
        self.are_topics_listed = False
        self._topics: dict[Key, TopicSummary] = {}
        self._policies: dict[Key, PulsarNamespaceKey] = {}
        self._with_jobs: set[Key] = set()
        self._of_topic: defaultdict[tuple[str, str], set[Key]] = defaultdict(set)

    def update_topic(self, key: Key, summary: TopicSummary) -> bool:
        """Store the summary of a topic; return whether it changed."""
        before = self._topics.get(key)
        self.known[key.plural].add(key)
        if before == summary:
            return False
        self._drop(key)
        self._topics[key] = summary
        for shared in _shared(summary):
            self._of_topic[shared].add(key)
        return True

    def mark_job_seen(self, key: Key) -> None:
        """Note that a validation Job of the topic exists, or did, whether the status has it or not."""
        self._with_jobs.add(key)

    def may_have_job(self, key: Key) -> bool:
        """Return whether a validation Job was seen since `clear_job`."""
        return key in self._with_jobs

    def clear_job(self, key: Key) -> None:
        """Note that no validation Job of the topic is left, or that they are about to be read."""
        self._with_jobs.discard(key)

    def remove_topic(self, key: Key) -> TopicSummary | None:
        """Remove a topic that is gone; return its last summary."""
        self.clear_job(key)
        self.known[key.plural].discard(key)
        return self._drop(key)

    def update_policy(self, key: Key, claims: PulsarNamespaceKey) -> bool:
        """Store which Pulsar namespace a policy names; return whether that changed."""
        self.known[key.plural].add(key)
        before = self._policies.get(key)
        self._policies[key] = claims
        return before != claims

    def remove_policy(self, key: Key) -> PulsarNamespaceKey | None:
        """Remove a policy that is gone; return the Pulsar namespace that it named."""
        self.known[key.plural].discard(key)
        return self._policies.pop(key, None)

    def topics_sharing(self, summary: TopicSummary) -> set[Key]:
        """Return the keys with the same topic name or the same history."""
        return {key for shared in _shared(summary) for key in self._of_topic.get(shared, ())}

    def topics_of_history(self, history: str) -> set[Key]:
        """Return the topics with that history."""
        return set(self._of_topic.get(("history", history), ()))

    def policies_of_pulsar_namespace(self, pulsar_namespace: str, namespace: str | None = None) -> set[Key]:
        """Return the policies that name a Pulsar namespace, everywhere or in one Kubernetes namespace."""
        return {
            key
            for key, claims in self._policies.items()
            if claims.pulsar_namespace == pulsar_namespace and namespace in (None, key.namespace)
        }

    def topics_of_policy(self, key: Key) -> set[Key]:
        """Return the topics that a policy may govern; none as long as its Pulsar namespace is unknown."""
        claims = self._policies.get(key)
        return set() if claims is None else self.governed_topics(key.namespace, claims.pulsar_namespace)

    def governed_topics(self, namespace: str, pulsar_namespace: str) -> set[Key]:
        """Return the topics of a Kubernetes namespace that are in that Pulsar namespace, or were not reconciled yet.

        A reconcile of one of the latter may have begun before the policy changed.
        """
        summaries = ((key, self.summary(key)) for key in self._topics_in(namespace))
        return {key for key, summary in summaries if summary is None or summary.pulsar_namespace == pulsar_namespace}

    def policies_in(self, namespace: str) -> set[Key]:
        """Return all known policies of a Kubernetes namespace."""
        return {key for key in self.known[NAMESPACE_SCHEMA_POLICY.plural] if key.namespace == namespace}

    def summary(self, key: Key) -> TopicSummary | None:
        """Return the summary of a topic; None before its first reconcile."""
        return self._topics.get(key)

    def all_summaries(self, namespace: str) -> dict[Key, TopicSummary] | None:
        """Return the summaries of all topics in a Kubernetes namespace; None until each was reconciled."""
        keys = self._topics_in(namespace)
        summaries = {key: self._topics[key] for key in keys if key in self._topics}
        return summaries if self.are_topics_listed and len(summaries) == len(keys) else None

    def _topics_in(self, namespace: str) -> set[Key]:
        return {key for key in self.known[TOPIC_SCHEMA.plural] if key.namespace == namespace}

    def _drop(self, key: Key) -> TopicSummary | None:
        summary = self._topics.pop(key, None)
        for shared in _shared(summary) if summary else ():
            self._of_topic[shared].discard(key)
            if not self._of_topic[shared]:
                del self._of_topic[shared]
        return summary


def _shared(summary: TopicSummary) -> tuple[tuple[str, str], ...]:
    topic = ("topic", summary.topic)
    return (topic, ("history", summary.history)) if summary.history else (topic,)
