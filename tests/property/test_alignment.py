"""Record and broker agree in the end, from any start: reconciles that crash between any two calls, other writers.

A reconcile is here that of `reconcile` without the wires: fetch, align, plan, one action. The broker is
`schema_service`, which tests/broker compares with a real one.
"""

import contextlib
from dataclasses import dataclass, field, replace
from random import Random
from typing import Final

from hypothesis import example, given, settings
from hypothesis import strategies as st

from support.judged import judge, needed
from support.pulsar.schema_service import PulsarSchemas, RefusedError
from support.schemas.examples import KEY, ME, record
from topicschema.core import alignment
from topicschema.core.alignment import Alignment, BrokerVersions, HistoryAhead, HistoryLost
from topicschema.core.broker_state import BrokerState
from topicschema.core.errors import StalledError
from topicschema.core.history import History, NumberedBy, Origin
from topicschema.core.imports import entry_of
from topicschema.core.plan import (
    Action,
    ClaimTopic,
    Import,
    Observed,
    Register,
    Upload,
    UploadMissing,
    plan,
)
from topicschema.core.policy import Policy, TopicChoices
from topicschema.core.reasons import Reason
from topicschema.core.remote import TopicSettings
from topicschema.core.schemas import PulsarVersion, Schema, SchemaInfo
from topicschema.core.strategies import Strategy
from topicschema.core.topic_settings import StoreSettings, TopicSettingsState, WriteSettings
from topicschema.core.verdict import Candidate, Outcome, Verdict

TOPIC: Final = "created"
PULSAR_VERSION: Final = PulsarVersion.V4_0
SPECS: Final = (record("id"), record("id", "a?"), record("id", "a?", "b?"), record("id", "c"), record("d"))
WISHES: Final = (None, Strategy.FULL, Strategy.ALWAYS_COMPATIBLE, Strategy.BACKWARD)
_CALLS: Final = 40
REFUSED: Final = StalledError(Reason.REFUSED_BY_BROKER, "no")


class CrashError(Exception):
    """The end of the controller by a kill."""


@dataclass(slots=True)
class World:
    """One topic: its resource, its record, its broker."""

    random: Random
    ticks: int = 0
    has_broker: bool = True
    spec: Schema = SPECS[0]
    own: Strategy | None = None
    history: History = field(default_factory=lambda: History(KEY))
    uploads: int = 0
    calls_left: int = _CALLS
    refused: Schema | None = None
    broker: PulsarSchemas = field(init=False)

    def __post_init__(self) -> None:
        self.broker = PulsarSchemas(self.now, Strategy.FULL)
        self.broker.settings[TOPIC] = {}

    def now(self) -> str:
        """Return a time that no other moment has."""
        self.ticks += 1
        return f"2026-11-21T{self.ticks // 3600:02}:{self.ticks // 60 % 60:02}:{self.ticks % 60:02}Z"

    # What a controller does

    def call(self) -> None:
        """Count one write somewhere. The controller may die before it."""
        if not self.calls_left:
            raise CrashError
        self.calls_left -= 1

    def work(self) -> None:
        """Reconcile until there is nothing left to do."""
        for _ in range(_CALLS):
            actions = plan(self.observed())
            if not actions:
                return
            self.act(actions[0])
        raise AssertionError("it never settles")

    def observed(self) -> Observed:
        aligned, remote = self.alignment(), None
        if aligned is not None:
            own, there = TopicSettings(strategy=self.own), TopicSettings(strategy=self.there)
            remote = BrokerState(
                aligned,
                topic_settings=TopicSettingsState(own, there, self.history.topic_settings),
                refused=REFUSED if self.refused is self.spec else None,
            )
        is_aligned = remote is None or isinstance(remote.alignment, alignment.InSync)
        return Observed(
            ME,
            self.history,
            verdict=self.verdict() if is_aligned else None,
            fingerprint=self.spec.fingerprint,
            broker=remote,
        )

    @property
    def there(self) -> Strategy | None:
        """The topic's own strategy at the broker."""
        own = self.broker.settings[TOPIC].get("strategy")
        return own if isinstance(own, Strategy) else None

    def alignment(self) -> Alignment | None:
        if not self.has_broker:
            return None
        served = tuple(entry_of(each, PULSAR_VERSION, self.spec.info) for each in self.broker.served(TOPIC))
        return alignment.align(self.history, BrokerVersions(self.broker.index(TOPIC), served), self.now())

    def verdict(self) -> Verdict:
        policy, candidate = Policy(strategy=Strategy.FULL), Candidate(self.spec, TopicChoices(self.own))
        entries = needed(candidate, self.history, policy)
        parsed = {e.schema_version: s for e in entries for s in SPECS if s.info.content_hash == e.content_hash}
        return judge(candidate, self.history, policy, parsed)

    def act(self, action: Action) -> None:
        self.call()
        if isinstance(action, Import | ClaimTopic | Register | StoreSettings):
            self.history = self.recorded(action)
            return
        match action:
            case Upload():
                self.upload(self.spec.info)
            case UploadMissing(missing):
                for entry in missing:
                    self.upload(next(s.info for s in SPECS if s.info.content_hash == entry.content_hash))
                    if self.refused is self.spec:
                        break
                    self.call()
            case WriteSettings(wish):
                strategy = None if wish.strategy is Strategy.UNDEFINED else wish.strategy
                self.broker.settings[TOPIC]["strategy"] = strategy
            case _:
                raise AssertionError(action)

    def recorded(self, action: Import | ClaimTopic | Register | StoreSettings) -> History:
        """Return the record after one write of it."""
        match action:
            case Import(history):
                there = {(each.schema_version, each.content_hash) for each in history.confirmed}
                known = ((each.schema_version, each.content_hash) for each in self.history.confirmed)
                assert there.issuperset(known), "the record lost what a broker confirmed"
                return history
            case ClaimTopic(owner):
                return self.history.claimed_by(owner)
            case Register(owner):
                return self.history.with_version(self.spec, Origin.SPEC, self.now()).claimed_by(owner)
            case StoreSettings(settings):
                return replace(self.history, topic_settings=settings)

    def upload(self, info: SchemaInfo) -> None:
        assert not isinstance(self.alignment(), HistoryLost), "an upload onto a lost history"
        self.uploads += 1
        try:
            self.broker.upload(TOPIC, info)
        except RefusedError:
            self.refused = self.spec

    # Events meanwhile

    def apply_event(self) -> None:
        """Apply a random event to the topic."""
        match self.random.randrange(9):
            case 0 | 1:
                self.edit(self.random.choice(SPECS), self.own)
            case 2:
                self.edit(self.spec, self.random.choice(WISHES))
            case 3:
                self.foreign()
            case 4:
                self.has_broker = not self.has_broker
            case 5 if self.random.random() < 0.5:
                self.broker.soft_delete(TOPIC)
            case 6 if self.random.random() < 0.3:
                self.broker.force_delete(TOPIC)
            case _:
                self.work_until_killed(self.random.randrange(5))

    def edit(self, spec: Schema, own: Strategy | None) -> None:
        self.spec, self.own, self.refused = spec, own, None

    def work_until_killed(self, calls: int) -> None:
        self.calls_left = calls
        with contextlib.suppress(CrashError):
            self.work()
        self.calls_left = _CALLS

    def foreign(self) -> None:
        with contextlib.suppress(RefusedError):
            self.broker.upload(TOPIC, self.random.choice(SPECS).info)


@given(st.integers(0, 2**32), st.integers(0, 14))
@settings(max_examples=400, deadline=None)
def test_record_and_broker_agree_in_the_end_after_any_events(seed: int, events: int) -> None:
    world = World(Random(seed))  # noqa: S311 - events, not a secret
    for _ in range(events):
        world.apply_event()
    world.has_broker = True
    world.work()
    final, before = world.alignment(), (world.history, world.broker.entries.get(TOPIC), world.uploads)
    world.work()
    assert before == (world.history, world.broker.entries.get(TOPIC), world.uploads), (
        "the second reconcile does something"
    )
    if isinstance(final, HistoryLost):
        return
    if isinstance(final, HistoryAhead):
        assert world.refused is world.spec
        return
    assert isinstance(final, alignment.InSync)
    served = world.broker.served(TOPIC)
    assert [(e.schema_version, e.content_hash, e.registered_at) for e in world.history.active_versions] == [
        (v.schema_version, v.info.content_hash, v.registered_at) for v in served
    ]
    assert world.history.numbered_by is NumberedBy.BROKER or not world.history.entries
    contents = [version.info for version in served]
    assert len(contents) == len(set(map(str, contents))), "a version is there twice"
    verdict = world.verdict()
    if verdict.outcome is Outcome.EQUAL_VERSION:
        assert world.history.claim == ME
    else:
        is_refused = world.refused is world.spec
        assert verdict.outcome is Outcome.INCOMPATIBLE or is_refused


@given(st.integers(0, 2**32), st.integers(0, 14))
@settings(max_examples=200, deadline=None)
def test_what_a_broker_lost_is_never_uploaded_again(seed: int, events: int) -> None:
    world = World(Random(seed))  # noqa: S311 - events, not a secret
    for _ in range(events):
        world.apply_event()
    world.has_broker = True
    world.work()
    if not world.history.confirmed:
        return
    world.broker.force_delete(TOPIC)
    uploads, entries = world.uploads, world.history.entries
    world.spec = world.random.choice(SPECS)
    world.work()
    assert isinstance(world.alignment(), HistoryLost)
    assert (world.uploads, world.broker.entries.get(TOPIC), world.history.entries) == (uploads, None, entries)


@given(st.lists(st.tuples(st.sampled_from(SPECS), st.sampled_from(WISHES), st.integers(0, 4)), max_size=5))
@example([(SPECS[4], Strategy.ALWAYS_COMPATIBLE, 2), (SPECS[1], Strategy.BACKWARD, 2)])
@settings(max_examples=400, deadline=None)
def test_a_strategy_that_no_field_names_any_more_is_there_no_more(
    edits: list[tuple[Schema, Strategy | None, int]],
) -> None:
    world = World(Random(0))  # noqa: S311 - nothing is left to chance here
    world.work()
    for spec, own, calls in edits:
        world.edit(spec, own)
        world.work_until_killed(calls)
    world.edit(SPECS[0], None)
    world.work()
    assert world.there is None
    noted = world.history.topic_settings
    assert noted is None or noted.written == TopicSettings()
