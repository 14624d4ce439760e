"""The broker's part of a pass over a policy: look at the settings of the Pulsar namespace, and write what differs.

What was there before is on record before anything is written over it. Nothing that the policy leaves out is written,
and under Observe nothing at all. What to write is `namespace_settings`' matter.
"""

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from topicschema import telemetry
from topicschema.api.brokers import ManagementPolicy, ObservedSettings
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY
from topicschema.api.policies import NamespaceSchemaPolicy
from topicschema.broker.broker import Broker
from topicschema.core.errors import TopicSchemaError
from topicschema.core.remote import BrokerSettings, NamespaceSettings
from topicschema.reconcile import namespace_settings as rules
from topicschema.reconcile.context import ReconcileContext
from topicschema.reconcile.policies import address_of
from topicschema.reconcile.status_write import ERRORS_WITHOUT_STATUS
from topicschema.reconcile.work_queue import Key
from topicschema.storage.claims import StoredClaim

_LONGEST_FRESH: Final = 60.0


@dataclass(frozen=True, slots=True)
class Look:
    """What came of a look: what the broker has, what it has otherwise and is not given, what is to be told of it.

    `undeclared` are the topics that a lock waits for, None where it waits until it is known which there are. `wrote`:
    the broker had something else until now. `other_line` is told of a broker of another line than the policy says.
    """

    observed: ObservedSettings | None = None
    difference: str = ""
    notes: tuple[str, ...] = ()
    undeclared: tuple[str, ...] | None = ()
    error: TopicSchemaError | None = None
    wrote: bool = False
    other_line: str = ""


@dataclass(frozen=True, slots=True)
class _Place:
    """One Pulsar namespace as a look sees it."""

    resource: NamespaceSchemaPolicy
    claim: StoredClaim
    broker: Broker
    seen: NamespaceSettings
    own: BrokerSettings | None


class _Kept(NamedTuple):
    """A good look: of which generation of the policy and revision of its claim, and when, by the clock."""

    of: tuple[int, str]
    at: float
    look: Look


class NamespaceLooks:
    """Looks at the Pulsar namespaces of policies; a good one holds for a minute, or until the policy changes.

    Or its claim does: whoever had it meanwhile may have written. Or it is doubted, since the broker refused by other
    settings. For a policy is passed over whenever its topics come and go, and that is nothing to ask a broker for.
    `resync` is when a policy is passed over by itself, in seconds: that is a look, however short it is.
    """

    def __init__(self, ctx: ReconcileContext, resync: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._ctx = ctx
        self._fresh = min(_LONGEST_FRESH, resync / 2)
        self._clock = clock
        self._last: dict[str, _Kept] = {}

    async def look(self, resource: NamespaceSchemaPolicy, claim: StoredClaim, declared: Collection[str] | None) -> Look:
        """What came of it, an error included; `declared` are the topics with a TopicSchema, None while unknown."""
        metadata, now = resource.metadata, self._clock()
        key = Key(NAMESPACE_SCHEMA_POLICY.plural, metadata.namespace, metadata.name)
        of, last = (metadata.generation, claim.revision), self._last.get(metadata.uid)
        is_stale = self._ctx.index.pop_stale(key)
        if last is not None and last.of == of and now - last.at < self._fresh and not is_stale:
            return last.look
        self._last.pop(metadata.uid, None)
        try:
            look = await self._look(resource, claim, declared)
        except ERRORS_WITHOUT_STATUS:
            raise
        except TopicSchemaError as error:
            return Look(observed=resource.status.observed, error=error)
        if look.error is None and look.undeclared == ():
            self._last[metadata.uid] = _Kept(of, now, replace(look, wrote=False))
        return look

    def forget(self, uid: str) -> None:
        """The policy is gone."""
        self._last.pop(uid, None)
        self._ctx.brokers.forget(uid)

    async def _look(
        self, resource: NamespaceSchemaPolicy, claim: StoredClaim, declared: Collection[str] | None
    ) -> Look:
        broker = await self._ctx.brokers.of(resource, anew=True)
        if broker is None:
            return Look()
        seen = await broker.namespace_settings(claim.key)
        own = await self._ctx.brokers.own_settings(resource, broker)
        if own is None:
            own = rules.known_of_broker(resource.observed)
        place = _Place(resource, claim, broker, seen, own)
        change = rules.differing(rules.wanted_by(resource.spec), seen)
        other_line = rules.other_line(resource.spec.broker_profile.line, own)
        if resource.spec.management_policy is ManagementPolicy.OBSERVE:
            there, difference = rules.observed(seen, own, address_of(resource)), rules.told_of(change, seen)
            return Look(there, difference, other_line=other_line)
        try:
            return replace(await self._applied(place, change, declared), other_line=other_line)
        except ERRORS_WITHOUT_STATUS:
            raise
        except TopicSchemaError as error:
            # What differs was seen, whoever may not mend it.
            return Look(rules.observed(seen, own, address_of(resource)), rules.told_of(change, seen), error=error)

    async def _applied(self, place: _Place, change: NamespaceSettings, declared: Collection[str] | None) -> Look:
        """The look once `change` is written, but for a lock that has to wait."""
        resource, seen, own = place.resource, place.seen, place.own
        undeclared = await self._undeclared(place, change, declared)
        if undeclared or undeclared is None:
            change = rules.without_lock(change)
        known = await self._write(place, change)
        after, wanted = rules.written_over(seen, change), rules.wanted_by(resource.spec)
        notes = (*rules.overruled(wanted, own), *rules.left_behind(wanted, after, known))
        there, wrote = rules.observed(after, own, address_of(resource)), bool(rules.named(change))
        return Look(there, notes=notes, undeclared=undeclared, wrote=wrote)

    @staticmethod
    async def _undeclared(
        place: _Place, change: NamespaceSettings, declared: Collection[str] | None
    ) -> tuple[str, ...] | None:
        if place.resource.spec.lock_undeclared or not rules.is_lock(change, place.seen, place.own):
            return ()
        if declared is None:
            return None
        return rules.undeclared(await place.broker.topics(place.claim.key), declared)

    async def _write(self, place: _Place, change: NamespaceSettings) -> rules.Recorded:
        """What is on record once `change` is written."""
        claim = place.claim
        known = rules.Recorded(claim.found or NamespaceSettings(), claim.managed)
        if not rules.named(change):
            return known
        due = rules.recorded_before(known, place.seen, change)
        if due != known:
            await self._ctx.claims.put_settings(claim, due.found, due.managed)
        await place.broker.set_namespace(claim.key, change)
        for setting in rules.named(change):
            telemetry.BROKER_SETTINGS_WRITES.labels(setting).inc()
        return due
