"""What the controller remembers between passes: who shares a topic or a policy with whom, and how each was.

Memory only, lost with the process and made again by the first pass over each object. Nothing here is ever an answer: it
says which keys to enqueue, and counts what was seen.
"""

from collections import defaultdict
from dataclasses import dataclass

from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY, TOPIC_SCHEMA
from topicschema.core.strategies import Strategy
from topicschema.core.topics import PulsarNamespaceKey
from topicschema.reconcile.work_queue import Key


@dataclass(frozen=True, slots=True)
class TopicSight:
    """What the last pass over a TopicSchema saw.

    `topic` is tenant/namespace/topic, "" where the spec cannot be read; `history` the name of its record, once known,
    and `latest` the number of its newest version.
    `is_outdone` where another resource holds its topic. `is_shut_out` where its broker has no such Pulsar namespace, or
    lets its policy not in: what it would tell all of that policy.
    """

    topic: str = ""
    pulsar_namespace: str = ""
    history: str | None = None
    strategy: Strategy | None = None
    latest: int | None = None
    is_ready: bool = False
    is_incompatible: bool = False
    is_outdone: bool = False
    is_shut_out: bool = False


class Neighbours:
    """Who is known, by what they share.

    `known` is all that was heard of, by plural, whether a pass reached it or not; `are_topics_listed` says that the
    first list of topics has come, so that nobody is missing there.
    """

    def __init__(self) -> None:
        self.known: dict[str, set[Key]] = {TOPIC_SCHEMA.plural: set(), NAMESPACE_SCHEMA_POLICY.plural: set()}
        self.are_topics_listed = False
        self._topics: dict[Key, TopicSight] = {}
        self._policies: dict[Key, PulsarNamespaceKey] = {}
        self._without_policy: dict[Key, float] = {}
        self._doubted: set[Key] = set()
        self._runs: set[Key] = set()
        self._shut_out: defaultdict[tuple[str, str], set[Key]] = defaultdict(set)
        self._of_topic: defaultdict[tuple[str, str], set[Key]] = defaultdict(set)

    def saw_topic(self, key: Key, sight: TopicSight) -> bool:
        """Remember what a pass saw; whether that changes what its policy counts."""
        before = self._topics.get(key)
        self.known[key.plural].add(key)
        if before == sight:
            return False
        self._drop(key)
        self._topics[key] = sight
        if sight.is_shut_out:
            self._shut_out[key.namespace, sight.pulsar_namespace].add(key)
        for shared in _shared(sight):
            self._of_topic[shared].add(key)
        return True

    def let_in(self, namespace: str, pulsar_namespace: str) -> tuple[Key, ...]:
        """The topics that were shut out together, in order: who finds the door open tells them, once."""
        return tuple(sorted(self._shut_out.pop((namespace, pulsar_namespace), ())))

    def missed_policy(self, key: Key, now: float) -> float:
        """Since when passes over a topic that is being deleted have found no policy."""
        return self._without_policy.setdefault(key, now)

    def found_policy(self, key: Key) -> None:
        """A pass over it found one."""
        self._without_policy.pop(key, None)

    def doubt_policy(self, key: Key) -> None:
        """A pass over a topic saw that its broker has other settings than the policy says: it is to look there anew."""
        self._doubted.add(key)

    def ends_doubt(self, key: Key) -> bool:
        """Whether there was any; for whoever looks anew now."""
        was_doubted = key in self._doubted
        self._doubted.discard(key)
        return was_doubted

    def heard_of_run(self, key: Key) -> None:
        """There is a Job that asks the topic's messages, whether its status tells so or not, or one that did."""
        self._runs.add(key)

    def may_run(self, key: Key) -> bool:
        """Whether a Job was heard of since it was last known that none asks."""
        return key in self._runs

    def no_run(self, key: Key) -> None:
        """None of its Jobs asks any more, or they are about to be looked at."""
        self._runs.discard(key)

    def lost_topic(self, key: Key) -> TopicSight | None:
        """Forget a topic that is gone; what was seen of it last."""
        self.found_policy(key)
        self.no_run(key)
        self.known[key.plural].discard(key)
        return self._drop(key)

    def saw_policy(self, key: Key, claims: PulsarNamespaceKey) -> bool:
        """Remember which Pulsar namespace a policy names; return whether that was not known."""
        self.known[key.plural].add(key)
        before = self._policies.get(key)
        self._policies[key] = claims
        return before != claims

    def lost_policy(self, key: Key) -> PulsarNamespaceKey | None:
        """Forget a policy that is gone; the Pulsar namespace that it named."""
        self.known[key.plural].discard(key)
        self._doubted.discard(key)
        return self._policies.pop(key, None)

    def sharing(self, sight: TopicSight) -> set[Key]:
        """The topics with the same spelling of their topic, or the same history."""
        return {key for shared in _shared(sight) for key in self._of_topic.get(shared, ())}

    def of_history(self, history: str) -> set[Key]:
        """The topics whose record that is."""
        return set(self._of_topic.get(("history", history), ()))

    def policies_naming(self, pulsar_namespace: str, namespace: str | None = None) -> set[Key]:
        """The policies that name a Pulsar namespace, everywhere or in one Kubernetes namespace."""
        return {
            key
            for key, claims in self._policies.items()
            if claims.pulsar_namespace == pulsar_namespace and namespace in (None, key.namespace)
        }

    def topics_of_policy(self, key: Key) -> set[Key]:
        """Return the topics that a policy may govern; none while nobody knows which Pulsar namespace it names."""
        claims = self._policies.get(key)
        return set() if claims is None else self.topics_governed(key.namespace, claims.pulsar_namespace)

    def topics_governed(self, namespace: str, pulsar_namespace: str) -> set[Key]:
        """Return the topics of a Kubernetes namespace that are in that Pulsar namespace, or that no pass has reached.

        A pass over one of the latter may have begun before the policy changed.
        """
        sights = ((key, self.sight(key)) for key in self._topics_in(namespace))
        return {key for key, sight in sights if sight is None or sight.pulsar_namespace == pulsar_namespace}

    def policies_in(self, namespace: str) -> set[Key]:
        """All policies heard of in a Kubernetes namespace."""
        return {key for key in self.known[NAMESPACE_SCHEMA_POLICY.plural] if key.namespace == namespace}

    def companions(self, key: Key) -> set[Key]:
        """Who probably reaches the same broker: the policies in the Kubernetes namespace of a topic."""
        return self.policies_in(key.namespace) if key.plural == TOPIC_SCHEMA.plural else set()

    def sight(self, key: Key) -> TopicSight | None:
        """What the last pass over a topic saw; None before the first."""
        return self._topics.get(key)

    def complete_sights(self, namespace: str) -> dict[Key, TopicSight] | None:
        """What was seen of all topics in a Kubernetes namespace; None while there is one that no pass has reached."""
        keys = self._topics_in(namespace)
        sights = {key: self._topics[key] for key in keys if key in self._topics}
        return sights if self.are_topics_listed and len(sights) == len(keys) else None

    def _topics_in(self, namespace: str) -> set[Key]:
        return {key for key in self.known[TOPIC_SCHEMA.plural] if key.namespace == namespace}

    def _drop(self, key: Key) -> TopicSight | None:
        sight = self._topics.pop(key, None)
        if sight is not None and sight.is_shut_out:
            self._let_out(key, sight)
        for shared in _shared(sight) if sight else ():
            self._of_topic[shared].discard(key)
            if not self._of_topic[shared]:
                del self._of_topic[shared]
        return sight

    def _let_out(self, key: Key, sight: TopicSight) -> None:
        waiting = self._shut_out.get((key.namespace, sight.pulsar_namespace), set())
        waiting.discard(key)
        if not waiting:
            self._shut_out.pop((key.namespace, sight.pulsar_namespace), None)


def _shared(sight: TopicSight) -> tuple[tuple[str, str], ...]:
    topic = ("topic", sight.topic)
    return (topic, ("history", sight.history)) if sight.history else (topic,)
