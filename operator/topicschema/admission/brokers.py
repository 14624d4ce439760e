"""Warnings about an edit's effects at a broker: what has no effect, and what cannot be reverted.

No broker is called here. The data is the last state that the controller observed, which may have changed since. The
controller reports what a broker then refuses.
"""

import json
from collections.abc import Iterator
from dataclasses import replace

from topicschema.api.brokers import ManagementPolicy, ObservedBroker
from topicschema.api.policies import DriftPolicy, NamespaceSchemaPolicy, NamespaceSchemaPolicySpec
from topicschema.api.topicschemas import DeletionPolicy, EffectiveStrategyStatus, TopicSchema, TopicSchemaSpec
from topicschema.core import releases
from topicschema.core.history import History
from topicschema.core.policy import StrategySource, effective_strategy
from topicschema.core.remote import Setting
from topicschema.core.schemas import SchemaInfo, SchemaType, fingerprint_of_bytes
from topicschema.core.strategies import Strategy
from topicschema.judging import policy_rules
from topicschema.judging.policies import ActivePolicy

_NO_BROKER = "has a registry without Pulsar"
_ENVELOPE = ("fileDescriptorSet", "rootMessageTypeName", "rootFileDescriptorName")
"""Members of a PROTOBUF_NATIVE schema, in the order in which clients write them."""


def for_topic(active: ActivePolicy, spec: TopicSchemaSpec, old: TopicSchema | None, history: History) -> ActivePolicy:
    """Return the policy for one topic, with the topic's own strategy that remains at its broker.

    This concerns a `spec` that names no strategy. The status has the strategy that the controller observed for this
    spec. The history has the one that stays at the broker. It counts if the resource is recreated, or if an earlier
    spec named a strategy, which may not have reached the broker.
    """
    if not active.resource.has_broker or spec.schema_compatibility_strategy is not None:
        return active
    observed = _observed_strategy(old)
    if observed is not None:
        left = observed.value if observed.source is StrategySource.TOPIC else None
    else:
        recorded = history.topic_settings
        left = None if recorded is None else recorded.original.strategy
    return replace(
        active, policy=replace(active.policy, unmanaged_strategy=None if left is Strategy.UNDEFINED else left)
    )


def _observed_strategy(old: TopicSchema | None) -> EffectiveStrategyStatus | None:
    """Return the strategy that the controller observed for a resource that names none, or None if it has not since.

    A reconcile that could not judge this spec also reports its generation, with the strategy observed before.
    """
    if old is None or old.spec.schema_compatibility_strategy is not None:
        return None
    status = old.status
    was_judged = status.fingerprint is not None and status.observed_generation == old.metadata.generation
    return status.effective_strategy if was_judged else None


def warnings_of_topic(
    spec: TopicSchemaSpec, info: SchemaInfo, old: TopicSchema | None, active: ActivePolicy, history: History
) -> Iterator[str]:
    """Yield the warnings about an accepted TopicSchema. `info` is its schema as it would be registered."""
    policy, name = active.resource, active.resource.metadata.name
    if not policy.has_broker:
        if spec.schema_validation_enforced is not None:
            yield f"spec.{Setting.ENFORCEMENT} has no effect: policy {name} {_NO_BROKER}"
        return
    yield from _of_judging(spec, active, history)
    if spec.schema_validation_enforced is False and _broker(policy).schema_validation_enforced:
        yield f"spec.{Setting.ENFORCEMENT}: false has no effect: the broker itself demands schemas of all producers"
    if spec.deletion_policy is DeletionPolicy.DELETE and (
        old is None or old.spec.deletion_policy is not spec.deletion_policy
    ):
        yield (
            "deletionPolicy is Delete: deleting this resource soft-deletes the schema at the broker, which then no "
            "longer serves the older versions; consumers that decode retained messages by them fail"
        )
    if _is_locked(policy):
        yield from _refused_clients(spec, info, history)


def _is_locked(policy: NamespaceSchemaPolicy) -> bool:
    """Return True if clients may not add schemas: by the policy, else by the last observed settings of the broker."""
    observed = policy.observed
    current = None if observed is None else observed.is_allow_auto_update_schema
    settings = (policy.spec.is_allow_auto_update_schema, current, _broker(policy).is_allow_auto_update_schema)
    return next((each for each in settings if each is not None), None) is False


def _of_judging(spec: TopicSchemaSpec, active: ActivePolicy, history: History) -> Iterator[str]:
    policy, strategy = active.resource, effective_strategy(active.policy, spec.schema_compatibility_strategy)
    if not history.confirmed:
        yield (
            "the broker's schemas of this topic are not recorded yet: if it has any, this resource is judged again "
            "after they are adopted"
        )
    if policy.spec.management_policy is ManagementPolicy.OBSERVE:
        yield "managementPolicy is Observe: nothing is registered at the broker, and its versions are only recorded"
    if policy.observed is None and strategy.source is not StrategySource.TOPIC:
        reason = f"policy {policy.metadata.name} has not read its broker's settings yet"
        yield f"{reason}: judged by {strategy.value}, and again after it has"
    if active.policy.unmanaged_strategy is not None and spec.schema_compatibility_strategy is None:
        strategy_at_broker = f"the topic keeps its own strategy {strategy.value} at the broker"
        yield f"{strategy_at_broker}; schemaCompatibilityStrategy: UNDEFINED removes it"


def _refused_clients(spec: TopicSchemaSpec, info: SchemaInfo, history: History) -> Iterator[str]:
    """Yield the clients that cannot register their schema because only the operator adds schemas.

    Clients compare bytes.
    """
    for clients, text, advice in _client_texts(spec, info):
        if info.schema != text and history.equal_to(fingerprint_of_bytes(info.type, text)) is None:
            yield (
                f"clients may not add schemas, and {clients} clients send another text for {info.type} than this one: "
                f"where they produce, {advice}, so that both are registered"
            )


def _client_texts(spec: TopicSchemaSpec, info: SchemaInfo) -> Iterator[tuple[str, bytes, str]]:
    """Yield clients, their bytes for this schema, and the way to register them, for types with two spellings."""
    if info.type is SchemaType.STRING:
        with_text = "leave schema out once" if spec.schema else "let them connect once before auto-update is disabled"
        yield "Java", b"", with_text
        yield "Python", b"null", "set schema: 'null' once"
    if info.type is SchemaType.PROTOBUF_NATIVE:
        envelope = json.loads(info.schema)
        members = {member: envelope[member] for member in _ENVELOPE}
        yield "Java", json.dumps(members, separators=(",", ":")).encode(), "set schema to theirs once"
        yield "Python", json.dumps(members, indent=1).encode(), "set schema to theirs once"


def warnings_of_policy(resource: NamespaceSchemaPolicy, old: NamespaceSchemaPolicy | None) -> Iterator[str]:
    """Yield the warnings about an accepted policy. Its status has the state of its registry."""
    spec, before = resource.spec, None if old is None else old.spec
    if not resource.has_broker:
        for field in _policy_fields_without_effect(spec):
            yield f"spec.{field} has no effect: the policy {_NO_BROKER}"
        return
    yield from _of_lock(spec, before)
    warning = policy_rules.replication_warning(resource)
    if warning and (before is None or before.is_allow_auto_update_schema is not False):
        yield warning
    release = resource.release
    is_set = spec.is_allow_auto_update_schema_with_replicator is not None
    if is_set and release is not None and not releases.lets_replicators_register(release):
        yield f"spec.{Setting.REPLICATORS} has no effect: the broker is {release}, and Pulsar has it from 5.0 on"
    yield from _of_observing(resource)
    if spec.schema_validation_enforced is False and _broker(resource).schema_validation_enforced:
        yield f"spec.{Setting.ENFORCEMENT}: false has no effect: the broker itself demands schemas of all producers"
    yield from _no_longer_managed(spec, before)


def _policy_fields_without_effect(spec: NamespaceSchemaPolicySpec) -> Iterator[str]:
    if spec.is_allow_auto_update_schema is not None:
        yield Setting.AUTO_UPDATE
    if spec.is_allow_auto_update_schema_with_replicator is not None:
        yield Setting.REPLICATORS
    if spec.schema_validation_enforced is not None:
        yield Setting.ENFORCEMENT
    if spec.management_policy is not ManagementPolicy.MANAGE:
        yield "managementPolicy"


def _of_lock(spec: NamespaceSchemaPolicySpec, before: NamespaceSchemaPolicySpec | None) -> Iterator[str]:
    desired = (spec.is_allow_auto_update_schema, spec.unmanaged_topics)
    known = None if before is None else (before.is_allow_auto_update_schema, before.unmanaged_topics)
    is_written = spec.drift_policy is DriftPolicy.CORRECT
    if spec.is_allow_auto_update_schema is not False or desired == known or not is_written:
        return
    if spec.unmanaged_topics.exempts_all:
        yield (
            f"clients may no longer add schemas to any topic of {spec.pulsar_namespace}: where there is no TopicSchema "
            "(dead-letter and retry topics, too) producers with a schema that is not there yet are refused"
        )
    else:
        yield (
            f"clients may add schemas until every topic of {spec.pulsar_namespace} has a TopicSchema or is exempt "
            "(spec.unmanagedTopics); status.unmanagedTopics lists those for which the lock waits"
        )


def _of_observing(resource: NamespaceSchemaPolicy) -> Iterator[str]:
    spec, observed = resource.spec, resource.observed
    if spec.management_policy is not ManagementPolicy.OBSERVE:
        return
    desired = spec.schema_compatibility_strategy
    actual = Strategy.UNDEFINED if observed is None else observed.schema_compatibility_strategy or Strategy.UNDEFINED
    if observed is not None and desired is not None and desired is not actual:
        yield (
            f"managementPolicy is Observe: topics are judged by {desired}, and the broker applies {actual}; remove "
            f"{Setting.STRATEGY} to judge by the broker's strategy"
        )


def _no_longer_managed(spec: NamespaceSchemaPolicySpec, before: NamespaceSchemaPolicySpec | None) -> Iterator[str]:
    if before is None:
        return
    fields = (
        (Setting.STRATEGY, before.schema_compatibility_strategy, spec.schema_compatibility_strategy),
        (Setting.AUTO_UPDATE, before.is_allow_auto_update_schema, spec.is_allow_auto_update_schema),
        (Setting.ENFORCEMENT, before.schema_validation_enforced, spec.schema_validation_enforced),
        (
            Setting.REPLICATORS,
            before.is_allow_auto_update_schema_with_replicator,
            spec.is_allow_auto_update_schema_with_replicator,
        ),
    )
    for field, was, now in fields:
        if was is not None and now is None:
            yield f"spec.{field} is not managed any more: the broker keeps what it has"


def _broker(policy: NamespaceSchemaPolicy) -> ObservedBroker:
    observed = policy.observed
    return (observed and observed.broker) or ObservedBroker()
