"""The policy that judges a topic: one of the manifests, or the command's options."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from topicschema.api.kinds import SCHEMA_REGISTRY
from topicschema.api.policies import NamespaceSchemaPolicy
from topicschema.api.registries import SchemaRegistry
from topicschema.api.topicschemas import TopicSchemaSpec
from topicschema.cli.check.resources import Manifest, Resource
from topicschema.cli.inputs.files import UsageError
from topicschema.core.checkers import Checkers
from topicschema.core.policy import Policy, for_topic
from topicschema.core.strategies import Strategy
from topicschema.core.topics import Topic
from topicschema.judging.policy_rules import policy_of


@dataclass(frozen=True, slots=True)
class Governing:
    """Rules for judging, and the policy that sets them, or None if the command's options do.

    `manifest` is None if the policy is only in Git. `elsewhere` is a policy of the Pulsar namespace in another
    Kubernetes namespace, if none governs.
    """

    policy: Policy
    resource: NamespaceSchemaPolicy | None = None
    manifest: Manifest | None = None
    elsewhere: Resource | None = None

    def for_topic(self, spec: TopicSchemaSpec, left: Strategy | None, now: str) -> Policy:
        """Return the rules for one topic at the time `now`, with the topic's exception.

        `left` is its own strategy at the broker if the spec names none.
        """
        policy = for_topic(self.policy, Topic.parse(spec.topic).local_name, now)
        has_broker = self.resource is not None and self.resource.has_broker
        if not has_broker or spec.schema_compatibility_strategy is not None:
            return policy
        return replace(policy, unmanaged_strategy=left)


def governing_of(resource: Resource, checkers: Checkers, registries: Mapping[str, SchemaRegistry]) -> Governing:
    """Return the rules of a policy: those at its registry if that is given, else those of the newest Pulsar version.

    Raises StalledError if its manifest is invalid.
    """
    registry = registries.get(resource.policy.spec.registry)
    current = resource.policy if registry is None else resource.policy.at(registry)
    policy = policy_of(current)
    return Governing(replace(policy, profile=replace(policy.profile, checkers=checkers)), current)


def registries_of(resources: Iterable[Resource]) -> dict[str, SchemaRegistry]:
    """Return the valid SchemaRegistries by name."""
    return {each.name: each.registry for each in resources if each.kind == SCHEMA_REGISTRY.name and not each.fault}


class Governors:
    """The given policies, by Kubernetes namespace and Pulsar namespace."""

    def __init__(
        self, policies: Iterable[Manifest], checkers: Checkers, registries: Mapping[str, SchemaRegistry]
    ) -> None:
        self._checkers = checkers
        self._registries = registries
        self._results: dict[tuple[str, str], Governing | None] = {}
        self._by_namespaces = defaultdict[tuple[str, str], list[Manifest]](list)
        self.by_pulsar_namespace: dict[str, Resource] = {}
        """The first policy of each Pulsar namespace, in any Kubernetes namespace."""
        for each in policies:
            self._by_namespaces[each.resource.namespace, each.resource.pulsar_namespace].append(each)
            self.by_pulsar_namespace.setdefault(each.resource.pulsar_namespace, each.resource)

    def find(self, namespace: str, pulsar_namespace: str) -> Governing | None:
        """Return the policy of a Pulsar namespace, if it is given. Raises UsageError if there are several."""
        key = namespace, pulsar_namespace
        if key not in self._results:
            self._results[key] = self._find(namespace, pulsar_namespace)
        return self._results[key]

    def _find(self, namespace: str, pulsar_namespace: str) -> Governing | None:
        result = self._by_namespaces.get((namespace, pulsar_namespace), [])
        if len(result) > 1:
            places = " and ".join(f"{each.file}:{each.line}" for each in result)
            raise UsageError(
                f"several policies govern {pulsar_namespace} in the namespace {namespace or '(none)'}: {places}; "
                "check the manifests of one cluster at a time"
            )
        if not result:
            return None
        return replace(governing_of(result[0].resource, self._checkers, self._registries), manifest=result[0])
