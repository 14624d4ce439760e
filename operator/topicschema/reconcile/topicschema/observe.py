"""All reads of a pass over a living TopicSchema: policy, history, broker, whether another holder still exists.

Those of a deletion are `deletion`'s. What follows from them is `core.plan`'s and `report`'s matter.
"""

from contextlib import suppress
from dataclasses import dataclass, replace

from topicschema.api import FINALIZER
from topicschema.api.metadata import Metadata
from topicschema.api.topicschemas import DeletionPolicy, TopicSchema
from topicschema.broker.errors import BrokerForbiddenError
from topicschema.core import plan
from topicschema.core.alignment import Ahead, Aligned
from topicschema.core.errors import StalledError, TopicSchemaError, WaitingError
from topicschema.core.history import History, Owner
from topicschema.core.policy import Policy
from topicschema.core.schemas import PulsarLine, Schema
from topicschema.core.topics import Topic
from topicschema.core.verdict import Candidate, Outcome, Verdict
from topicschema.judging import full_history
from topicschema.judging.holders import other_holder
from topicschema.judging.policies import FoundPolicy, address_of
from topicschema.judging.schema_source import sources_of
from topicschema.reconcile.context import ReconcileContext
from topicschema.reconcile.runtime.event_router import history_key
from topicschema.reconcile.runtime.schedule import require_partition
from topicschema.reconcile.topicschema.broker_state import BrokerQuery
from topicschema.reconcile.topicschema.broker_view import BrokerView, gather_broker, retry_with_fresh_credentials
from topicschema.reconcile.validation import gather as validation_gather
from topicschema.reconcile.validation import status as validation_status
from topicschema.reconcile.validation.gather import ValidationInput, ValidationState
from topicschema.reconcile.validation.settings import ValidationTarget
from topicschema.storage.protocol import Stored


@dataclass(frozen=True, slots=True)
class Observation:
    """A resource, its topic's record, what its schema is judged to be, and what is seen at its broker, if it has one.

    `announced` is the incarnation, number and content hash of a version whose payload was written before its upload.
    At a deletion there is neither policy nor schema nor verdict; `released` is then why nothing is deleted but the
    resource, in words for people, or "".
    """

    resource: TopicSchema
    stored: Stored | None = None
    found: FoundPolicy | None = None
    schema: Schema | None = None
    verdict: Verdict | None = None
    view: BrokerView | None = None
    released: str = ""
    validation: ValidationState | None = None
    announced: tuple[int, int, str] | None = None

    @property
    def candidate(self) -> Candidate:
        """What is judged."""
        if self.schema is None:
            raise TypeError("nothing was parsed")
        return Candidate(self.schema, self.resource.spec.schema_compatibility_strategy)

    @property
    def policy(self) -> Policy:
        """What is judged by: where the broker has a strategy of the topic's own that nobody manages, that one."""
        if self.found is None:
            raise TypeError("nothing to judge by")
        left = None if self.view is None else self.view.left_behind
        return replace(self.found.policy, left=left)

    @property
    def line(self) -> PulsarLine:
        """The line whose parser took the schema."""
        return self.policy.profile.line

    @property
    def topic(self) -> Topic:
        """The topic."""
        return Topic.parse(self.resource.spec.topic)

    @property
    def query(self) -> BrokerQuery:
        """What is looked for at the broker."""
        if self.stored is None:
            raise TypeError("no record was read")
        return BrokerQuery(self.stored.history, self.line, self.schema, self.source_hash)

    @property
    def source_hash(self) -> str | None:
        """The hash of the sources that the schema is compiled from, if it is."""
        sources = sources_of(self.resource.spec)
        return None if sources is None else sources.source_hash

    @property
    def was_counted(self) -> bool:
        """Whether the record tells that a broker counted the schema: no sight of it gives no reason to doubt that."""
        return self.stored is not None and self.query.counted is not None

    @property
    def stopped(self) -> TopicSchemaError | None:
        """The error that holds back a schema that passed: a full history, messages, the broker, or no topic."""
        if self._full is not None:
            return self._full
        is_there = self.verdict is not None and self.verdict.outcome is Outcome.EQUAL_VERSION
        if self.validation is not None and not is_there:
            held_back = validation_status.stopped(self.validation)
            if held_back is not None:
                return held_back
        if self.view is None:
            return None
        # What the broker refused once it may have by now, from somebody else.
        return (replace(self.view, refused=None) if is_there else self.view).stopped(self.topic)

    @property
    def _full(self) -> StalledError | None:
        """The error if the history cannot take the candidate, or the broker's versions."""
        if self.stored is None:
            return None
        history = self.stored.history
        of_broker = None if self.view is None else full_history.refusal_of_broker(history, self.view.state.alignment)
        return of_broker or full_history.refusal(history, self.verdict)

    @property
    def planned(self) -> tuple[plan.Action, ...]:
        """The next action."""
        metadata, spec = self.resource.metadata, self.resource.spec
        owner = owner_of(metadata)
        stored = self.stored
        if stored is None:
            # Nothing on record is known to be ours: only the resource itself is left to deal with.
            return (plan.RemoveFinalizer(),) if FINALIZER in metadata.finalizers else ()
        return plan.plan(
            plan.Observed(
                owner=owner,
                history=stored.history,
                is_on_record=bool(stored.revision),
                verdict=self.verdict,
                is_being_deleted=metadata.deletion_timestamp is not None,
                is_suspended=spec.suspend,
                deletes_record=spec.deletion_policy is DeletionPolicy.DELETE,
                has_finalizer=FINALIZER in metadata.finalizers,
                is_source_on_record=self._is_source_on_record(stored.history),
                fingerprint="" if self.schema is None else self.schema.fingerprint,
                remote=None if self.view is None else self.view.remote,
                is_released=bool(self.released),
                validation=None if self.validation is None else self.validation.planned,
            )
        )

    def _is_source_on_record(self, history: History) -> bool:
        source_hash = self.source_hash
        if source_hash is None or self.verdict is None:
            return True
        known = history.compiled_from(source_hash)
        return known is not None and known.schema_version == self.verdict.schema_version


def owner_of(metadata: Metadata) -> Owner:
    """The resource as the holder of a claim."""
    return Owner(metadata.namespace, metadata.name, metadata.uid)


async def governed(ctx: ReconcileContext, resource: TopicSchema) -> Observation:
    """The resource and the policy that governs it; the errors of design section 8 where none does."""
    topic = Topic.parse(resource.spec.topic)
    found = await ctx.policies.find(resource.metadata.namespace, topic.pulsar_namespace)
    if found is None:
        raise WaitingError("PolicyNotFound", f"no NamespaceSchemaPolicy here governs {topic.pulsar_namespace}")
    require_partition(address_of(found.resource))
    return Observation(resource, found=found)


async def on_record(ctx: ReconcileContext, seen: Observation) -> Observation:
    """What is on record of the resource's topic, and the schema that it stands for: all but the broker, if it has one.

    The errors of design section 8 that are not a broker's.
    """
    if seen.found is None:
        raise TypeError("nobody governs it")
    resource, found = seen.resource, seen.found
    stored = await ctx.storage.get_history(found.key(seen.topic))
    ctx.own_writes.record(history_key(stored.history.key.history_name), stored.revision)
    await _check_unclaimed(ctx, stored, owner_of(resource.metadata))
    if found.resource.spec.pulsar is None:
        _check_history_present(stored, resource)
    stored = replace(stored, history=await ctx.judge.under(stored.history, seen.line))
    return await parsed(ctx, replace(seen, stored=stored))


async def at_broker(ctx: ReconcileContext, seen: Observation) -> Observation:
    """The same with what is seen at its broker, if it has one, and judged; a broker's errors, and those of judging."""
    if seen.found is None:
        raise TypeError("nobody governs it")
    resource, found, query = seen.resource, seen.found, seen.query
    broker = await ctx.brokers.of(found.resource)
    if broker is not None:
        there = await retry_with_fresh_credentials(
            ctx, found, broker, lambda known: gather_broker(ctx, known, found, resource, query)
        )
        seen = replace(seen, view=there)
    return await judged(ctx, seen)


async def parsed(ctx: ReconcileContext, seen: Observation) -> Observation:
    """The same observation with the schema that the resource stands for beside its history."""
    history = None if seen.stored is None else seen.stored.history
    return replace(seen, schema=await ctx.judge.schema_of(seen.resource.spec, seen.line, history))


async def judged(ctx: ReconcileContext, seen: Observation) -> Observation:
    """The same observation with the verdict that follows from its history; none while the broker has another."""
    if seen.stored is None:
        raise TypeError("nothing to judge by")
    if seen.view is not None and not _is_told(seen.view):
        return replace(seen, verdict=None)
    verdict = await ctx.judge.judge(seen.candidate, seen.stored.history, seen.policy)
    return await inquired(ctx, replace(seen, verdict=verdict))


async def inquired(ctx: ReconcileContext, seen: Observation) -> Observation:
    """The same observation with what the topic's messages have to say, as far as they are asked."""
    if seen.found is None or seen.stored is None or seen.verdict is None:
        raise TypeError("nothing was judged")
    target = ValidationTarget(seen.candidate.schema.info, seen.stored.history, seen.verdict, seen.line)
    given = ValidationInput(_may_advance(seen, seen.stored.history), lambda: _topic_exists(seen))
    validation = await validation_gather.gather(ctx, seen.resource, seen.found, target, given)
    if validation is not None and seen.view is not None:
        validation = replace(validation, observe_only=not seen.view.may_write)
    return replace(seen, validation=validation)


def _may_advance(seen: Observation, history: History) -> bool:
    """Return whether a pass of the messages leads to a version: `plan` goes on where this says so."""
    view = seen.view
    if view is None:
        return True
    return view.may_write and view.refused is None and not plan.has_to_wait(history, view.overrides)


async def _topic_exists(seen: Observation) -> bool:
    """Return whether the topic is known to exist, and a run finds it: it looks for persistent topics only."""
    view = seen.view
    if view is None or view.domain != "persistent":
        return False
    if view.overrides is not None:
        return view.overrides.there is not None
    with suppress(BrokerForbiddenError):
        return await view.broker.exists(seen.topic, view.domain)
    return False


def _is_told(seen: BrokerView) -> bool:
    """Whether the record tells what the broker has; where the broker is only observed, it may lack what we have."""
    found = seen.state.alignment
    return isinstance(found, Aligned) or (isinstance(found, Ahead) and not seen.may_write)


async def _check_unclaimed(ctx: ReconcileContext, stored: Stored, owner: Owner) -> None:
    holder = await other_holder(ctx.client, stored.history.claim, owner)
    if holder is not None:
        message = f"TopicSchema {holder.name} already holds the topic {stored.history.key.topic}"
        raise StalledError("TopicAlreadyClaimed", message)


def _check_history_present(stored: Stored, resource: TopicSchema) -> None:
    """A status is written after the record, and of this resource only: what it tells of was there."""
    status, history = resource.status, stored.history
    if history.lacks(status.incarnation, status.version_count):
        key, there = history.key, history.version_count
        raise StalledError(
            "HistoryLost",
            f"the status tells of {status.version_count} versions, the record of topic {key.topic} of Pulsar cluster "
            f"{key.pulsar_cluster} has {there or 'none'}: the next would get a number that was given before; restore "
            f"{key.history_name} and its versions, or, to go on from version {history.next_version}, delete this "
            "resource (with deletionPolicy: Retain, or the record goes with it) and create it anew",
        )
