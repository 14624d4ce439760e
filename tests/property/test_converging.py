"""From any edit of any topic, planning and acting settle, with the verdict that `judge` really gives."""

from dataclasses import replace
from random import Random
from typing import Final

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from support.judged import judge, needed
from support.schemas import families
from support.schemas.examples import KEY, LATER, ME, NOW, OTHER
from support.sizes import sized
from topicschema.core.history import History, Origin
from topicschema.core.plan import ClaimTopic, Observed, Register, plan
from topicschema.core.policy import Policy
from topicschema.core.schemas import Schema, SchemaType
from topicschema.core.strategies import Strategy
from topicschema.core.verdict import Candidate, Outcome, Verdict

RANDOMS: Final = st.randoms(use_true_random=False)
TYPES: Final = st.sampled_from(families.TYPES)
STRATEGIES: Final = st.sampled_from(Strategy)
CLAIMS: Final = st.sampled_from((None, ME, OTHER))


class World:
    """A topic's record with its payloads, and the resource's schema."""

    def __init__(self, spec: Schema, versions: list[Schema], policy: Policy) -> None:
        self.spec = spec
        self.policy = policy
        self.history = History(KEY)
        self.payloads: dict[int, Schema] = {}
        for each in versions:
            self._add(each, NOW)

    def verdict(self) -> Verdict:
        candidate = Candidate(self.spec)
        entries = needed(candidate, self.history, self.policy)
        return judge(
            candidate,
            self.history,
            self.policy,
            {each.schema_version: self.payloads[each.schema_version] for each in entries},
        )

    def act(self, action: object) -> None:
        assert isinstance(action, ClaimTopic | Register)
        if isinstance(action, Register):
            self._add(self.spec, LATER)
        self.history = self.history.claimed_by(action.owner)

    def _add(self, schema: Schema, when: str) -> None:
        self.payloads[self.history.next_version] = schema
        self.history = self.history.with_version(schema, Origin.SPEC, when)


@given(RANDOMS, TYPES, STRATEGIES, CLAIMS)
@settings(max_examples=sized(50, 150), deadline=None)
def test_every_edit_settles_and_only_what_may_follow_is_registered(
    random: Random, kind: SchemaType, strategy: Strategy, claim: object
) -> None:
    schemas = families.family(random, kind, 4)
    assume(len(schemas) == 4)
    spec, *versions = schemas
    world = World(spec, versions[: random.randint(0, 3)], Policy(strategy=strategy))
    world.history = replace(world.history, claim=claim)
    first, before = world.verdict(), len(world.history.entries)
    for _ in range(3):
        actions = plan(Observed(ME, world.history, verdict=world.verdict()))
        if not actions:
            break
        world.act(actions[0])
    last = world.verdict()
    assert plan(Observed(ME, world.history, verdict=last)) == ()
    assert len(world.history.entries) == before + (first.outcome is Outcome.NEXT_VERSION)
    if first.is_compatible:
        assert (last.outcome, world.history.claim) == (Outcome.EQUAL_VERSION, ME)
        assert last.schema_version == first.schema_version
    else:
        assert last == first
