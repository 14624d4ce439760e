"""Rules for judging that a NamespaceSchemaPolicy sets. The command uses them, too, without the API server's client."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from topicschema.api.brokers import ObservedBroker, ObservedSettings
from topicschema.api.policies import ExceptionSpec, NamespaceSchemaPolicy, NamespaceSchemaPolicySpec
from topicschema.api.topicschemas import DeletionPolicy, TopicSchemaSpec
from topicschema.api.validation import TopicValidationSpec
from topicschema.core import releases
from topicschema.core.errors import StalledError, TopicSchemaError, WaitingError
from topicschema.core.policy import (
    BrokerProfile,
    Constraints,
    Policy,
    StrategyException,
    TopicChoices,
    counted_strategy,
)
from topicschema.core.reasons import Reason
from topicschema.core.schemas import NEWEST, PulsarVersion
from topicschema.core.strategies import BY_AUTO_UPDATE_NAME, Strategy
from topicschema.core.validation_rules import SampleLimits, ValidationRules
from topicschema.judging.clock import rfc3339

_UNOBSERVED = ObservedSettings()
_UNSET = (None, Strategy.UNDEFINED)


def pulsar_version_of(resource: NamespaceSchemaPolicy) -> PulsarVersion | None:
    """Return the Pulsar version that judges: the broker's, or the newest one for the operator's own store.

    None if it is not known yet, or if the broker does not report one.
    """
    if resource.status.registry is None:
        return None
    if not resource.has_broker:
        return NEWEST
    return None if resource.release is None else releases.judging_version(resource.release)


def missing(resource: NamespaceSchemaPolicy) -> TopicSchemaError | None:
    """Return the error of a policy that cannot judge, or None: without a Pulsar version, or without a strategy."""
    spec = resource.spec
    if pulsar_version_of(resource) is None:
        return WaitingError(
            Reason.PULSAR_VERSION_UNKNOWN,
            f"the broker of registry {spec.registry} has not reported its version; if it never does, set "
            "spec.pulsar.version of the registry",
            after=30.0,
        )
    observed = resource.observed
    if observed is None or observed.broker is not None or _namespace_strategy(spec, observed) not in _UNSET:
        return None
    return StalledError(
        Reason.STRATEGY_UNKNOWN,
        f"the operator's role may not read the broker's own strategy, and neither policy {resource.metadata.name} nor "
        f"{spec.pulsar_namespace} sets one: set schemaCompatibilityStrategy in the policy",
    )


def policy_of(resource: NamespaceSchemaPolicy) -> Policy:
    """Return the resource's rules for judging. Settings of its broker, as observed, are the defaults.

    The operator judges nothing without a Pulsar version. For the command the newest one stands for it.
    """
    spec, observed = resource.spec, resource.observed or _UNOBSERVED
    limits, default = spec.constraints, observed.broker or ObservedBroker()
    return Policy(
        strategy=_namespace_strategy(spec, observed),
        strictness=spec.strictness,
        profile=BrokerProfile(
            pulsar_version_of(resource) or NEWEST, default.schema_compatibility_strategy or Strategy.FULL
        ),
        constraints=Constraints(
            allowed_types=limits.allowed_types,
            allowed_strategies=limits.allowed_strategies,
            required_properties=limits.required_properties,
            max_schema_bytes=limits.max_schema_bytes,
            may_relax_validation=limits.may_relax_validation,
            allows_deletion=DeletionPolicy.DELETE in limits.allowed_deletion_policies,
            exceptions=tuple(map(_exception, limits.exceptions)),
        ),
        validation=_validation_rules(spec.validation),
    )


def choices_of(spec: TopicSchemaSpec) -> TopicChoices:
    """Return what a TopicSchema sets for itself, within its policy's constraints."""
    deletes = spec.deletion_policy is DeletionPolicy.DELETE
    return TopicChoices(spec.schema_compatibility_strategy, _validation_rules(spec.validation), deletes)


def counted_choices(spec: TopicSchemaSpec, policy: Policy) -> TopicChoices:
    """Return the same as the controller counts it. `policy` is the one for the topic.

    A strategy whose exception has ended counts as unset, and the deletion policy counts at the deletion only.
    """
    choices = choices_of(spec)
    return replace(choices, strategy=counted_strategy(policy, choices.strategy), deletes_history=False)


def _exception(spec: ExceptionSpec) -> StrategyException:
    date, _, time = spec.until.partition("T")
    month, day = datetime.fromisoformat(f"{date[:-2]}01").replace(tzinfo=UTC), int(date[-2:])
    # Not every year has a February 29. The day of a date is included.
    hours, minutes, seconds = map(int, time[:-1].split(":")) if time else (24, 0, 0)
    end = month + timedelta(days=day - 1, hours=hours, minutes=minutes, seconds=seconds)
    return StrategyException(spec.topic, spec.allowed_strategies, spec.until, rfc3339(end), spec.reason)


def _validation_rules(spec: TopicValidationSpec | None) -> ValidationRules:
    if spec is None:
        return ValidationRules()
    tolerance = None if spec.tolerance is None else spec.tolerance.max_invalid_per_million
    sample = None
    if spec.sample is not None:
        sample = SampleLimits(spec.sample.max_messages, spec.sample.percent, spec.sample.since)
    return ValidationRules(spec.mode, tolerance, sample)


def _namespace_strategy(spec: NamespaceSchemaPolicySpec, observed: ObservedSettings) -> Strategy | None:
    """Return the strategy of the Pulsar namespace: that of the policy, which the controller writes, or the observed."""
    strategy = spec.schema_compatibility_strategy or observed.schema_compatibility_strategy
    if strategy is None or strategy is Strategy.UNDEFINED:
        return BY_AUTO_UPDATE_NAME.get(observed.schema_auto_update_compatibility_strategy or "", strategy)
    return strategy


def replication_warning(resource: NamespaceSchemaPolicy) -> str:
    """Return a warning if the policy's lock can stop geo-replication, else ""."""
    observed = resource.observed
    clusters = 0 if observed is None else len(observed.replication_clusters or ())
    is_locking = resource.spec.is_allow_auto_update_schema is False
    lets_register = resource.spec.is_allow_auto_update_schema_with_replicator is not False
    if not is_locking or clusters < 2:  # noqa: PLR2004 - ours and another
        return ""
    if lets_register and releases.lets_replicators_register(resource.release):
        return ""
    return (
        f"{resource.spec.pulsar_namespace} is replicated: under the lock, the broker refuses replicators whose schema "
        "is not registered here, and their topics stop; register each schema in every cluster first"
    )
