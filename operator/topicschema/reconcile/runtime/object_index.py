"""The index of known objects: keys by topic, history and policy, and a summary of each topic.

It is in memory only. After a restart, the first reconcile of each object fills it. It serves to enqueue related keys
and to limit the reconciles of a broker. It counts topics for a policy's status, and conditions for the metrics.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY, SCHEMA_REGISTRY, TOPIC_SCHEMA, Kind
from topicschema.api.metadata import Condition
from topicschema.core.strategies import Strategy
from topicschema.core.topics import PulsarNamespaceKey, TopicKey
from topicschema.reconcile.runtime.work_queue import Key


@dataclass(frozen=True, slots=True)
class TopicSummary:
    """The summary of a TopicSchema as of its last reconcile.

    `topic` is tenant/namespace/topic, or "" if the spec is invalid. `history` is the key of its history, if known, and
    `latest` the number of its newest version. `lost_claim` is True if another resource holds its topic.
    """

    topic: str = ""
    pulsar_namespace: str = ""
    history: TopicKey | None = None
    strategy: Strategy | None = None
    latest: int | None = None
    is_ready: bool = False
    is_incompatible: bool = False
    lost_claim: bool = False


ConditionLabels = tuple[str, str, str, str, str]
"""Kind, namespace, condition, status and reason."""


class ObjectIndex:
    """An index of objects by topic, history and policy.

    `known` has all keys of events and lists, by plural, reconciled or not. If `are_topics_listed` is True, the first
    list of topics was handled, and `known` has all of them. `brokers` has the addresses of the brokers of the policies
    that hold their claim, or "" for none. `with_any_job` has the topics with a validation Job, ended or not.
    `secrets` has the names of the Secrets of each registry.
    `condition_counts` has the number of objects by kind, namespace, condition, status and reason.
    """

    def __init__(self) -> None:
        self.known: dict[str, set[Key]] = {
            kind.plural: set() for kind in (TOPIC_SCHEMA, NAMESPACE_SCHEMA_POLICY, SCHEMA_REGISTRY)
        }
        self.brokers: dict[Key, str] = {}
        self.are_topics_listed = False
        self.condition_counts: Counter[ConditionLabels] = Counter()
        self._conditions: dict[Key, tuple[ConditionLabels, ...]] = {}
        self._topics: dict[Key, TopicSummary] = {}
        self._policies: dict[Key, PulsarNamespaceKey] = {}
        self._with_jobs: set[Key] = set()
        self.with_any_job: set[Key] = set()
        self.secrets: dict[Key, frozenset[str]] = {}
        self._of_topic: defaultdict[str | TopicKey, set[Key]] = defaultdict(set)

    def update_topic(self, key: Key, summary: TopicSummary) -> bool:
        """Store the summary of a topic. Return True if it changed."""
        before = self._topics.get(key)
        self.known[key.plural].add(key)
        if before == summary:
            return False
        self._drop(key)
        self._topics[key] = summary
        for shared in _shared(summary):
            self._of_topic[shared].add(key)
        return True

    def record_conditions(self, key: Key, kind: Kind, conditions: Iterable[Condition]) -> None:
        """Count the conditions of an object's status instead of those recorded before."""
        self._forget_conditions(key)
        labels = tuple(
            (kind.name, key.namespace, each.type.value, each.status.value, each.reason) for each in conditions
        )
        self._conditions[key] = labels
        self.condition_counts.update(labels)

    def _forget_conditions(self, key: Key) -> None:
        for labels in self._conditions.pop(key, ()):
            self.condition_counts[labels] -= 1
            if not self.condition_counts[labels]:
                del self.condition_counts[labels]

    def mark_job(self, key: Key) -> None:
        """Record that a validation Job of the topic exists or existed, even if the status does not have it."""
        self._with_jobs.add(key)
        self.with_any_job.add(key)

    def may_have_job(self, key: Key) -> bool:
        """Return True if a validation Job was observed since `clear_job`."""
        return key in self._with_jobs

    def clear_job(self, key: Key) -> None:
        """Record that the topic has no validation Job, or that its Jobs are about to be read."""
        self._with_jobs.discard(key)

    def remove_topic(self, key: Key) -> TopicSummary | None:
        """Remove a deleted topic. Return its last summary, or None."""
        self.clear_job(key)
        self._forget_conditions(key)
        self.known[key.plural].discard(key)
        return self._drop(key)

    def update_policy(self, key: Key, claims: PulsarNamespaceKey) -> bool:
        """Store the Pulsar namespace that a policy names. Return True if it changed."""
        self.known[key.plural].add(key)
        before = self._policies.get(key)
        self._policies[key] = claims
        return before != claims

    def remove_policy(self, key: Key) -> PulsarNamespaceKey | None:
        """Remove a deleted policy. Return the Pulsar namespace that it named, or None."""
        self.brokers.pop(key, None)
        self._forget_conditions(key)
        self.known[key.plural].discard(key)
        return self._policies.pop(key, None)

    def policies_of_registry(self, registry: str) -> set[Key]:
        """Return the policies that name a registry."""
        return {key for key, claims in self._policies.items() if claims.registry == registry}

    def claims_of_registry(self, registry: str) -> set[PulsarNamespaceKey]:
        """Return the Pulsar namespaces that policies of a registry name."""
        return {claims for claims in self._policies.values() if claims.registry == registry}

    def remove_registry(self, key: Key) -> None:
        """Remove a deleted registry."""
        self.secrets.pop(key, None)
        self._forget_conditions(key)
        self.known[key.plural].discard(key)

    def topics_sharing(self, summary: TopicSummary) -> set[Key]:
        """Return the keys with the same topic name or the same history."""
        return {key for shared in _shared(summary) for key in self._of_topic.get(shared, ())}

    def topics_of_history(self, history: TopicKey) -> set[Key]:
        """Return the topics with that history."""
        return set(self._of_topic.get(history, ()))

    def policies_of_pulsar_namespace(self, pulsar_namespace: str, namespace: str | None = None) -> set[Key]:
        """Return the policies that name a Pulsar namespace, in all Kubernetes namespaces or in one."""
        return {
            key
            for key, claims in self._policies.items()
            if claims.pulsar_namespace == pulsar_namespace and namespace in (None, key.namespace)
        }

    def topics_of_policy(self, key: Key) -> set[Key]:
        """Return the topics that a policy may govern, none while its Pulsar namespace is unknown."""
        claims = self._policies.get(key)
        return set() if claims is None else self.governed_topics(key.namespace, claims.pulsar_namespace)

    def governed_topics(self, namespace: str, pulsar_namespace: str) -> set[Key]:
        """Return the topics of a Kubernetes namespace that are in that Pulsar namespace, or were not reconciled yet.

        A reconcile of one of the latter may have begun before the policy changed.
        """
        summaries = ((key, self.summary(key)) for key in self._topics_in(namespace))
        return {key for key, summary in summaries if summary is None or summary.pulsar_namespace == pulsar_namespace}

    def broker_of_topic(self, key: Key) -> str | None:
        """Return the address of a topic's broker, or None if it is unknown. It may be stale: only for limits.

        Before the first reconcile of the topic, it is known if all policies of its Kubernetes namespace name the same.
        """
        topic = self.summary(key)
        if topic is None:
            policies = self.policies_in(key.namespace)
        else:
            policies = self.policies_of_pulsar_namespace(topic.pulsar_namespace, key.namespace) & self.brokers.keys()
        brokers = {self.brokers.get(policy) for policy in policies}
        return brokers.pop() if len(brokers) == 1 else None

    def policies_in(self, namespace: str) -> set[Key]:
        """Return all known policies of a Kubernetes namespace."""
        return {key for key in self.known[NAMESPACE_SCHEMA_POLICY.plural] if key.namespace == namespace}

    def summary(self, key: Key) -> TopicSummary | None:
        """Return the summary of a topic, or None before its first reconcile."""
        return self._topics.get(key)

    def all_summaries(self, namespace: str) -> dict[Key, TopicSummary] | None:
        """Return the summaries of all topics in a Kubernetes namespace, or None until each was reconciled."""
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


def _shared(summary: TopicSummary) -> tuple[str | TopicKey, ...]:
    return (summary.topic, summary.history) if summary.history else (summary.topic,)
