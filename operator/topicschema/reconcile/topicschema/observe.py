"""All reads of a TopicSchema that is not being deleted: policy, history, state at the broker, validation.

`load` reads from the API server, `with_broker_state` adds the state at the broker, and `judge` the verdict and the
state of the validation. `blocking_error` is the error that prevents the registration. `deletion` has the reads of a
deletion.
"""

from contextlib import suppress
from dataclasses import dataclass, replace

from topicschema.api import FINALIZER
from topicschema.api.metadata import Metadata
from topicschema.api.topicschemas import DeletionPolicy, TopicSchema
from topicschema.broker.broker import Broker
from topicschema.broker.errors import BrokerForbiddenError
from topicschema.core import plan
from topicschema.core.alignment import HistoryAhead, InSync
from topicschema.core.broker_state import BrokerState
from topicschema.core.errors import StalledError, TopicSchemaError, WaitingError
from topicschema.core.history import Owner
from topicschema.core.policy import Policy
from topicschema.core.reasons import Reason
from topicschema.core.schemas import PulsarVersion, Schema
from topicschema.core.topics import Topic
from topicschema.core.verdict import Candidate, Outcome, Verdict
from topicschema.judging import history_limit
from topicschema.judging.holders import other_holder
from topicschema.judging.policies import ActivePolicy
from topicschema.judging.policy_rules import counted_choices
from topicschema.judging.schema_source import sources_of
from topicschema.reconcile.context import ReconcileContext
from topicschema.reconcile.topicschema.observe_broker import (
    TOPIC_SECONDS,
    BrokerQuery,
    observe_state,
    retry_with_fresh_credentials,
)
from topicschema.reconcile.validation import observe as observe_validation
from topicschema.reconcile.validation import status as validation_status
from topicschema.reconcile.validation.observe import ValidationInput, ValidationState
from topicschema.reconcile.validation.settings import ValidationTarget
from topicschema.storage.protocol import Stored


@dataclass(frozen=True, slots=True)
class Loaded:
    """A TopicSchema with its policy, its topic's history, its schema, and its state at the broker.

    `broker` and `state` are None if the policy names no broker, or before `with_broker_state`. `announced` is
    incarnation, number and content hash of a version whose payload was written before its upload. `job_error` is the
    failed step of a start or deletion of a validation Job, and its error. `record_bytes` are the bytes that the
    policy's histories take, or None without a limit.
    """

    resource: TopicSchema
    governing: ActivePolicy
    stored: Stored
    schema: Schema
    broker: Broker | None = None
    state: BrokerState | None = None
    announced: tuple[int, int, str] | None = None
    job_error: tuple[str, TopicSchemaError] | None = None
    record_bytes: int | None = None

    @property
    def topic(self) -> Topic:
        """The topic."""
        return Topic.parse(self.resource.spec.topic)

    @property
    def pulsar_version(self) -> PulsarVersion:
        """The Pulsar version whose parser reads the schema."""
        return self.governing.policy.profile.pulsar_version

    @property
    def policy(self) -> Policy:
        """The policy for judging, with the topic's own strategy at the broker if no field manages it."""
        return replace(
            self.governing.policy, unmanaged_strategy=None if self.state is None else self.state.unmanaged_strategy
        )

    @property
    def candidate(self) -> Candidate:
        """The candidate to judge."""
        return Candidate(self.schema, counted_choices(self.resource.spec, self.governing.policy))

    @property
    def source_hash(self) -> str | None:
        """The hash of the schema's Protobuf sources, or None."""
        sources = sources_of(self.resource.spec)
        return None if sources is None else sources.source_hash

    @property
    def query(self) -> BrokerQuery:
        """The query for the broker."""
        return BrokerQuery(self.stored.history, self.pulsar_version, self.schema, self.source_hash)


@dataclass(frozen=True, slots=True)
class Judged:
    """A loaded TopicSchema with verdict and validation. The verdict is None while the history lacks versions."""

    loaded: Loaded
    verdict: Verdict | None = None
    validation: ValidationState | None = None

    @property
    def planned(self) -> tuple[plan.Action, ...]:
        """The next actions."""
        loaded, verdict = self.loaded, self.verdict
        metadata, spec = loaded.resource.metadata, loaded.resource.spec
        return plan.plan(
            plan.Observed(
                owner=owner_of(metadata),
                history=loaded.stored.history,
                verdict=verdict,
                deletes_history=spec.deletion_policy is DeletionPolicy.DELETE,
                has_finalizer=FINALIZER in metadata.finalizers,
                is_source_stored=verdict is None or _is_source_stored(loaded, verdict),
                is_record_full=history_limit.is_record_full(loaded.governing.resource, loaded.record_bytes),
                fingerprint=loaded.schema.fingerprint,
                broker=loaded.state,
                validation=None if self.validation is None else self.validation.planned,
            )
        )


def owner_of(metadata: Metadata) -> Owner:
    """Return the resource as the holder of a claim."""
    return Owner(metadata.namespace, metadata.name, metadata.uid)


async def governing_policy(ctx: ReconcileContext, resource: TopicSchema) -> ActivePolicy:
    """Return the policy that governs the resource, for its topic now.

    Raise ClaimNotAllowed, TopicAlreadyClaimed or PolicyNotFound.
    """
    topic = Topic.parse(resource.spec.topic)
    governing = await ctx.policies.resolve(resource.metadata.namespace, topic.pulsar_namespace)
    return governing.for_topic(topic, ctx.now())


async def load(ctx: ReconcileContext, resource: TopicSchema, governing: ActivePolicy) -> Loaded:
    """Return the resource with its history and schema, without the broker.

    Raise StalledError or WaitingError, except those of a broker.
    """
    stored = await ctx.storage.get_history(governing.key(Topic.parse(resource.spec.topic)))
    await _check_unclaimed(ctx, stored, owner_of(resource.metadata))
    if not governing.resource.has_broker:
        _check_history_present(ctx, stored, resource)
    pulsar_version = governing.policy.profile.pulsar_version
    stored = replace(stored, history=await ctx.judge.for_version(stored.history, pulsar_version))
    schema = await ctx.judge.schema_of(resource.spec, pulsar_version, stored.history)
    return Loaded(resource, governing, stored, schema, record_bytes=await ctx.used_bytes(governing.resource))


async def with_broker_state(ctx: ReconcileContext, loaded: Loaded) -> Loaded:
    """Return `loaded` with its state at the broker, if its policy names one. Raise `broker.errors`."""
    governing = loaded.governing
    broker = await ctx.broker_of(governing.resource)
    if broker is None:
        return loaded

    async def read(known: Broker) -> Loaded:
        state = await observe_state(ctx, known, governing, loaded.resource, loaded.query)
        return replace(loaded, broker=known, state=state)

    return await retry_with_fresh_credentials(ctx, governing, broker, read)


async def judge(ctx: ReconcileContext, loaded: Loaded, before: Judged | None = None) -> Judged:
    """Return the verdict and the validation. There is no verdict while the history lacks versions of the broker.

    The verdict of `before` is reused if schema, versions and policy are the same.
    """
    if loaded.state is not None and not _has_all_versions(loaded.state):
        return Judged(loaded)
    if before is not None and before.verdict is not None and _has_same_verdict(before.loaded, loaded):
        verdict = before.verdict
    else:
        verdict = await ctx.judge.judge(loaded.candidate, loaded.stored.history, loaded.policy)
    return await with_validation(ctx, Judged(loaded, verdict))


async def with_validation(ctx: ReconcileContext, judged: Judged) -> Judged:
    """Return `judged` with the current state of the topic's validation."""
    loaded = judged.loaded
    if judged.verdict is None:
        return judged
    target = ValidationTarget(loaded.schema.info, loaded.stored.history, judged.verdict, loaded.pulsar_version)
    inputs = ValidationInput(_may_advance(loaded), lambda: _topic_exists(loaded))
    validation = await observe_validation.observe(ctx, loaded.resource, loaded.governing, target, inputs)
    if validation is not None and loaded.state is not None:
        validation = replace(validation, observe_only=not loaded.state.may_write)
    if validation is not None and loaded.job_error is not None:
        validation = validation.with_api_error(*loaded.job_error)
    return replace(judged, validation=validation)


def blocking_error(judged: Judged) -> TopicSchemaError | None:
    """Return the error, or None: a full history, a pending or failed validation, a refusal, or a missing topic."""
    state, history, verdict = judged.loaded.state, judged.loaded.stored.history, judged.verdict
    too_many = None if state is None else history_limit.refusal_of_broker(history, state.alignment)
    full = too_many or history_limit.refusal(history, verdict)
    full = full or history_limit.refusal_of_record(
        judged.loaded.governing.resource,
        judged.loaded.record_bytes,
        history.key.topic,
        verdict,
        None if state is None else state.alignment,
    )
    if full is not None:
        return full
    is_registered = verdict is not None and verdict.outcome is Outcome.EQUAL_VERSION
    if judged.validation is not None and not is_registered:
        held_back = validation_status.blocking_error(judged.validation)
        if held_back is not None:
            return held_back
    if state is None:
        return None
    # Another client may have registered the schema since the broker refused it.
    refused = None if is_registered else state.refused
    return refused or _missing_topic(state, judged.loaded.topic)


def _missing_topic(state: BrokerState, topic: Topic) -> WaitingError | None:
    if state.topic_settings is None or not state.topic_settings.waits_for_topic or not state.may_write:
        return None
    message = (
        f"topic {topic} does not exist at the broker, so its own settings cannot be written; its first producer or "
        "consumer creates it, because the operator creates no topics"
    )
    return WaitingError(Reason.TOPIC_NOT_FOUND, message, TOPIC_SECONDS)


def _has_same_verdict(before: Loaded, now: Loaded) -> bool:
    entries = (each.stored.history.entries for each in (before, now))
    return before.candidate == now.candidate and before.policy == now.policy and next(entries) == next(entries)


def _is_source_stored(loaded: Loaded, verdict: Verdict) -> bool:
    source_hash = loaded.source_hash
    if source_hash is None:
        return True
    known = loaded.stored.history.compiled_from(source_hash)
    return known is not None and known.schema_version == verdict.schema_version


def _may_advance(loaded: Loaded) -> bool:
    """Return True if `plan` registers a version after the messages are valid."""
    state, history = loaded.state, loaded.stored.history
    if state is None:
        return True
    return state.may_write and state.refused is None and not plan.has_to_wait(history, state.topic_settings)


async def _topic_exists(loaded: Loaded) -> bool:
    """Return True if the topic is known to exist and is persistent, because a run reads persistent topics only."""
    broker, state, domain = loaded.broker, loaded.state, loaded.resource.spec.domain
    if broker is None or state is None or domain != "persistent":
        return False
    if state.topic_settings is not None:
        return state.topic_settings.current is not None
    with suppress(BrokerForbiddenError):
        return await broker.exists(loaded.topic, domain)
    return False


def _has_all_versions(state: BrokerState) -> bool:
    """Return True if the history has all versions of the broker. An observed broker may lack some of the history."""
    return isinstance(state.alignment, InSync) or (isinstance(state.alignment, HistoryAhead) and not state.may_write)


async def _check_unclaimed(ctx: ReconcileContext, stored: Stored, owner: Owner) -> None:
    holder = await other_holder(ctx.client, stored.history.claim, owner)
    if holder is not None:
        message = f"TopicSchema {holder.name} already holds the topic {stored.history.key.topic}"
        raise StalledError(Reason.TOPIC_ALREADY_CLAIMED, message)


def _check_history_present(ctx: ReconcileContext, stored: Stored, resource: TopicSchema) -> None:
    """Raise HistoryLost if the history lacks versions of the status, which is written after the history."""
    status, history = resource.status, stored.history
    if history.lacks(status.incarnation, status.version_count):
        key, there = history.key, history.version_count
        raise StalledError(
            Reason.HISTORY_LOST,
            f"the status has {status.version_count} versions, but the history of topic {key.topic} of registry "
            f"{key.registry} has {there or 'none'}: a new version would get a number that was used before. "
            f"Restore the history {ctx.storage.name_of(key)} and its versions. Or, to continue from version "
            f"{history.next_version}, delete this resource (with deletionPolicy: Retain, which keeps the history) and "
            "create it again",
        )
