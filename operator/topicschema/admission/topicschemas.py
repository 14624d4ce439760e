"""Review of a TopicSchema.

The steps are: parse, find the policy, judge against the history and against a pending edit, allow with warnings or
refuse with one cause per mistake. Every review reads policy, claim and history from the API server. Edits of
one Kubernetes namespace are judged one after the other, so that they do not delay those of others.
"""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from weakref import WeakValueDictionary

from topicschema.admission import brokers, messages, object_size, pending
from topicschema.admission.review import Cause, Review, ReviewResponse, allow, deny
from topicschema.api.metadata import ConditionType
from topicschema.api.topicschemas import DeletionPolicy, TopicSchema, TopicSchemaSpec
from topicschema.api.wire import decode
from topicschema.cluster.errors import ApiRefusedError
from topicschema.core.errors import InvalidSchemaError, StalledError, TopicSchemaError, WaitingError
from topicschema.core.history import History, Owner
from topicschema.core.reasons import Category, Reason
from topicschema.core.schemas import Schema
from topicschema.core.topics import Topic
from topicschema.core.verdict import Candidate, Outcome, Verdict
from topicschema.judging import history_limit
from topicschema.judging.clock import utc_now
from topicschema.judging.holders import other_holder
from topicschema.judging.judge import Judge
from topicschema.judging.policies import ActivePolicy, ObjectReader, PolicyResolver
from topicschema.judging.policy_rules import choices_of
from topicschema.storage.protocol import SchemaStorage, Stored

_DELETION_FIELD = "spec.deletionPolicy"


@dataclass(frozen=True, slots=True)
class _Edit:
    """The resource as it shall be and as it was, and its schema."""

    resource: TopicSchema
    old: TopicSchema | None
    schema: Schema

    @property
    def candidate(self) -> Candidate:
        return Candidate(self.schema, choices_of(self.resource.spec))

    @property
    def owner(self) -> Owner:
        metadata = self.resource.metadata
        return Owner(metadata.namespace, metadata.name, metadata.uid)

    @property
    def predecessor(self) -> TopicSchema | None:
        """The stored resource, if it has the same topic, as it always does unless it bypassed the CRD."""
        return self.old if self.old and self.old.spec.topic == self.resource.spec.topic else None

    @property
    def begins_deletion(self) -> bool:
        """True if the edit sets deletionPolicy: Delete."""
        wishes = (None if self.old is None else self.old.spec.deletion_policy, self.resource.spec.deletion_policy)
        return wishes[1] is DeletionPolicy.DELETE is not wishes[0]

    @property
    def changes_judged_fields(self) -> bool:
        return self.old is None or self.old.spec.judged_fields != self.resource.spec.judged_fields


class TopicSchemaReviewer:
    """Reviewer of TopicSchemas."""

    def __init__(
        self,
        client: ObjectReader,
        storage: SchemaStorage,
        policies: PolicyResolver,
        judge: Judge,
        now: Callable[[], str] = utc_now,
    ) -> None:
        self._client = client
        self._storage = storage
        self._policies = policies
        self._judge = judge
        self._now = now
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def review(self, review: Review) -> ReviewResponse:
        """Return the answer. Raises WaitingError if the API server is unreachable."""
        new = review.new
        if new is None or not review.changes_spec:
            return allow()
        too_large = object_size.refusal(review)
        if too_large is not None:
            return deny("ObjectTooLarge", [too_large])
        try:
            resource = decode(TopicSchema, new)
        except StalledError as error:
            return deny(error.reason, [messages.invalid_resource(error)])
        try:
            topic = Topic.parse(resource.spec.topic)
        except StalledError as error:
            return deny(error.reason, [messages.stalled(error, messages.TOPIC_FIELD)])
        return await self._review(resource, pending.decode_or_none(review.old), topic)

    async def _review(self, resource: TopicSchema, old: TopicSchema | None, topic: Topic) -> ReviewResponse:
        namespace, spec = resource.metadata.namespace, resource.spec
        try:
            governing, stored = await self._read(namespace, topic, spec)
            governing = governing.for_topic(topic, self._now())
            active = brokers.for_topic(governing, spec, old, stored.history)
            pulsar_version = active.policy.profile.pulsar_version
            async with self._turns.setdefault(namespace, asyncio.Lock()):
                history = await self._judge.for_version(stored.history, pulsar_version)
                schema = await self._judge.schema_of(spec, pulsar_version, history)
                return await self._decide(_Edit(resource, old, schema), active, history)
        except InvalidSchemaError as error:
            return deny(error.reason, [messages.invalid_schema(error, spec)])
        except ApiRefusedError:
            raise  # the request to the API server was wrong, not the user's edit
        except StalledError as error:
            if error.reason.category is Category.UNGOVERNED:
                return _allow_unjudged(error)
            return deny(error.reason, [messages.stalled(error, messages.TOPIC_FIELD)])
        except WaitingError as error:
            if error.reason.category is not Category.UNGOVERNED:
                raise
            return _allow_unjudged(error)

    async def _read(self, namespace: str, topic: Topic, spec: TopicSchemaSpec) -> tuple[ActivePolicy, Stored]:
        """Return the effective policy and the current history, read in parallel if the key can be predicted."""
        expected = self._policies.expected_key(namespace, topic)
        finding = self._policies.resolve(namespace, topic.pulsar_namespace)
        try:
            if expected is None:
                active = await finding
                return active, await self._storage.get_history(active.key(topic))
            active, stored = await asyncio.gather(finding, self._storage.get_history(expected))
        except TopicSchemaError:
            await self._judge.require_supported_version(spec)  # whichever policy will govern the topic
            raise
        if active.key(topic) != expected:
            stored = await self._storage.get_history(active.key(topic))
        return active, stored

    async def _decide(self, edit: _Edit, active: ActivePolicy, history: History) -> ReviewResponse:
        holder = await other_holder(self._client, history.claim, edit.owner)
        if holder is not None:
            return _refuse(edit, Reason.TOPIC_ALREADY_CLAIMED, (_claim_cause(holder),))
        verdict = await self._judge.judge(edit.candidate, history, active.policy)
        earlier = await pending.pending(self._judge, edit.predecessor, history, active)
        if verdict.outcome is not Outcome.EQUAL_VERSION:
            too = await self._judge.compare(edit.candidate, earlier, history, active.policy)
            verdict = replace(
                verdict,
                incompatibilities=tuple(dict.fromkeys((*too.incompatibilities, *verdict.incompatibilities))),
                risks=tuple(dict.fromkeys((*too.risks, *verdict.risks))),
                strict_only=too.strict_only | verdict.strict_only,
            )
        decision = messages.Decision(edit.resource.spec, verdict, active)
        if verdict.incompatibilities:
            causes = tuple(messages.causes_of(decision))
            lost = (Cause(messages.TOPIC_FIELD, loss) for loss in _reported_losses(edit.predecessor))
            return _refuse(edit, Reason.INCOMPATIBLE, (*lost, *causes))
        policy = active.resource
        full = history_limit.refusal(history, verdict) or history_limit.refusal_of_record(
            policy, policy.status.record_bytes, history.key.topic, verdict, None
        )
        if full is not None:
            return _refuse(edit, full.reason, (messages.stalled(full, messages.TOPIC_FIELD),))
        replaced = earlier is not None and earlier.fingerprint != edit.schema.fingerprint
        has_broker = active.resource.has_broker
        losses = _reported_losses(edit.predecessor) if has_broker else _history_losses(edit.predecessor, history)
        effects = brokers.warnings_of_topic(edit.resource.spec, edit.schema.info, edit.predecessor, active, history)
        filling = history_limit.warnings(history, verdict)
        return allow(*losses, *_warnings(verdict, history, decision, replaced=replaced), *filling, *effects)


def _refuse(edit: _Edit, reason: str, causes: tuple[Cause, ...]) -> ReviewResponse:
    """Return a refusal. An edit of an unjudged field is allowed, so that a stricter policy never blocks `suspend`."""
    is_deletion_refused = edit.begins_deletion and any(each.field == _DELETION_FIELD for each in causes)
    if edit.changes_judged_fields or is_deletion_refused:
        return deny(reason, causes)
    return allow(
        f"this edit does not change the schema and is admitted, but the schema would be refused: {causes[0].message}"
    )


def _allow_unjudged(error: TopicSchemaError) -> ReviewResponse:
    return allow(
        f"{error.reason}: {error.message}; admitted unjudged; the operator registers the schema after a policy applies"
    )


def _claim_cause(holder: Owner) -> Cause:
    what = (
        f"TopicAlreadyClaimed: TopicSchema {holder.name} already holds this topic; one topic has one TopicSchema, "
        "so edit or delete that one"
    )
    return Cause(messages.TOPIC_FIELD, what, "FieldValueDuplicate")


def _history_losses(old: TopicSchema | None, history: History) -> Iterator[str]:
    """Yield a warning if the status lists versions that the history lacks. A status is written after the history."""
    if old is not None and history.lacks(old.status.incarnation, old.status.version_count):
        there = history.version_count
        yield (
            f"{Reason.HISTORY_LOST}: the status has {old.status.version_count} versions, the history "
            f"{there or 'none'}; admitted {'judged by those alone' if there else 'unjudged'}, and not registered until "
            "the history is restored"
        )


def _reported_losses(old: TopicSchema | None) -> Iterator[str]:
    """Yield the controller's report of a lost history. A history that a broker lost is still recorded."""
    for condition in () if old is None else old.status.conditions:
        if condition.type is ConditionType.STALLED and condition.reason == Reason.HISTORY_LOST:
            yield f"{Reason.HISTORY_LOST}: {condition.message}"


def _warnings(verdict: Verdict, history: History, decision: messages.Decision, *, replaced: bool) -> Iterator[str]:
    yield from messages.risks_of(verdict.risks)
    if replaced:
        yield "this replaces an accepted edit that is not registered yet; that one may never become a version"
    latest = history.latest
    if verdict.outcome is Outcome.EQUAL_VERSION and latest and latest.schema_version != verdict.schema_version:
        yield (
            f"this is version {verdict.schema_version} again: no version is added, "
            f"and version {latest.schema_version} stays the topic's latest"
        )
    yield from (note.message for note in verdict.notes)
    yield from messages.notice_of(decision)
