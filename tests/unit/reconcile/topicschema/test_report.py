"""The status of a TopicSchema, situation by situation."""

import json
from dataclasses import replace

import pytest

from support.kubernetes.conditions import summary
from support.schemas.examples import LATER, ME, NOW, OTHER, history, record
from topicschema.api.metadata import Condition, ConditionStatus, ConditionType
from topicschema.api.topicschemas import EffectiveStrategyStatus, TopicSchemaStatus
from topicschema.api.wire import encode
from topicschema.broker.errors import BrokerUnavailableError
from topicschema.cluster.errors import ForbiddenError
from topicschema.core.alignment import HistoryAhead, InSync
from topicschema.core.broker_state import BrokerState
from topicschema.core.compatibility import Incompatibility
from topicschema.core.errors import InvalidSchemaError, Place, StalledError, TopicSchemaError, WaitingError
from topicschema.core.history import History, NumberedBy, Origin
from topicschema.core.policy import EffectiveStrategy, StrategySource
from topicschema.core.reasons import Reason
from topicschema.core.remote import TopicSettings
from topicschema.core.schemas import SchemaType
from topicschema.core.strategies import Direction, Strategy, UpgradeFirst
from topicschema.core.topic_settings import TopicSettingsState
from topicschema.core.verdict import Outcome, Verdict
from topicschema.reconcile.runtime.conditions import ObservedAt, describe_error
from topicschema.reconcile.topicschema.status import StatusInput, with_error, with_unreachable_broker, with_verdict

ONE, TWO = record("id"), record("id", "note?")
BACKWARD = EffectiveStrategy(Strategy.BACKWARD, StrategySource.NAMESPACE)
BOTH = history(ONE, TWO, claim=ME)
OURS = replace(BOTH, numbered_by=NumberedBy.BROKER)
FOREIGN = replace(OURS, entries=(OURS.entries[0], replace(OURS.entries[1], origin=Origin.BROKER)))
MOMENT = ObservedAt((), 3, NOW)
FIRST, SECOND = (Verdict(Outcome.EQUAL_VERSION, BACKWARD, number) for number in (0, 1))
NEXT = Verdict(Outcome.NEXT_VERSION, BACKWARD, 2)
SYNCED = BrokerState(InSync())
OBSERVED = replace(SYNCED, may_write=False)
INVALID = InvalidSchemaError("UNDEFINED_NAME", "no type is named Money", Place("$.fields[1].type"))
UNAVAILABLE, NO_POLICY = BrokerUnavailableError("silent"), WaitingError(Reason.POLICY_NOT_FOUND, "no policy")


def findings(count: int, text: str = "m", *, direction: Direction | None = None) -> tuple[Incompatibility, ...]:
    return tuple(Incompatibility(f"RULE_{n}", f"$.fields[{n}]", text, direction, 1) for n in range(count))


def refusal(count: int, text: str = "m") -> Verdict:
    return Verdict(Outcome.INCOMPATIBLE, BACKWARD, None, findings(count, text, direction=Direction.BACKWARD))


def status_of(
    verdict: Verdict,
    versions: History = BOTH,
    broker: BrokerState | None = None,
    risks: tuple[Incompatibility, ...] = (),
    *,
    stopped: TopicSchemaError | None = None,
) -> TopicSchemaStatus:
    return with_verdict(StatusInput(TWO.fingerprint, verdict, versions, risks, broker), MOMENT, stopped)


def after(status: TopicSchemaStatus, error: Exception, generation: int = 3) -> TopicSchemaStatus:
    return with_error(status, error, ObservedAt(status.conditions, generation, LATER))


def message(status: TopicSchemaStatus, kind: str = "Ready") -> str:
    return next(each.message for each in status.conditions if each.type == kind)


REGISTERED = status_of(SECOND)
ROLLED_BACK = status_of(FIRST)
AT_BROKER = status_of(SECOND, OURS, SYNCED)
LACKS_ALL, LACKS_SECOND = (replace(OBSERVED, alignment=HistoryAhead(OURS.entries[n:])) for n in (0, 1))


@pytest.mark.parametrize(
    ("status", "expected", "number"),
    [
        (REGISTERED, "Registered: +Ready +Compatible/Compatible +Registered +InSync", 1),
        (ROLLED_BACK, "RolledBack: +Ready +Compatible/Compatible +Registered +InSync", 0),
        # Without a broker, no other client registers
        (status_of(FIRST, FOREIGN), "RolledBack: +Ready +Compatible/Compatible +Registered +InSync", 0),
        (
            status_of(FIRST, FOREIGN, SYNCED),
            "Registered: +Ready +Compatible/Compatible +Registered -InSync/UnmanagedVersion",
            0,
        ),
        (status_of(refusal(3)), "Incompatible: -Ready +Stalled -Compatible -Registered -InSync", None),
        (status_of(SECOND, risks=findings(3)), "Registered: +Ready +Compatible/ConsumerRisk +Registered +InSync", 1),
        # An observed broker
        (status_of(NEXT, OURS, OBSERVED), "Observed: +Ready +Compatible/Compatible -Registered -InSync", None),
        (status_of(FIRST, OURS, LACKS_ALL), "Observed: +Ready +Compatible/Compatible -Registered -InSync", None),
        (
            status_of(FIRST, OURS, LACKS_SECOND),
            "Observed: +Ready +Compatible/Compatible +Registered/RolledBack -InSync",
            0,
        ),
        # An obstacle
        (
            status_of(NEXT, OURS, SYNCED, stopped=StalledError(Reason.REFUSED_BY_BROKER, "no")),
            "RefusedByBroker: -Ready +Stalled +Compatible/Compatible -Registered -InSync",
            None,
        ),
        (
            status_of(SECOND, OURS, SYNCED, stopped=WaitingError(Reason.CONFLICT, "not yet")),
            "Conflict: -Ready +Reconciling +Compatible/Compatible +Registered/Registered -InSync",
            1,
        ),
        # Errors
        (
            after(REGISTERED, StalledError(Reason.HISTORY_LOST, "no history")),
            "HistoryLost: -Ready +Stalled ?Compatible -Registered -InSync",
            None,
        ),
        (
            after(REGISTERED, KeyError("secret")),
            "InternalError: ?Ready +Reconciling ?Compatible ?Registered ?InSync",
            1,
        ),
        (
            with_unreachable_broker(AT_BROKER, UNAVAILABLE, ObservedAt(AT_BROKER.conditions, 3, LATER)),
            "Registered: +Ready +Compatible/Compatible +Registered ?InSync/BrokerUnavailable",
            1,
        ),
        (
            after(AT_BROKER, UNAVAILABLE, 4),
            "BrokerUnavailable: -Ready +Reconciling ?Compatible ?Registered ?InSync",
            None,
        ),
    ],
)
def test_conditions_and_schema_version(status: TopicSchemaStatus, expected: str, number: int | None) -> None:
    assert summary(status.conditions) == expected
    assert (status.schema_version, status.latest_schema_version, status.version_count) == (number, 1, 2)
    assert [version.schema_version for version in status.versions] == [0, 1]
    assert "secret" not in str(encode(status))


def test_the_status_has_the_generation_the_fingerprint_and_the_order_of_upgrades() -> None:
    assert {REGISTERED.observed_generation, *(each.observed_generation for each in REGISTERED.conditions)} == {3}
    assert (REGISTERED.upgrade_first, REGISTERED.fingerprint) == (UpgradeFirst.CONSUMERS, TWO.fingerprint)


OWN = TopicSettingsState(TopicSettings(), TopicSettings(Strategy.BACKWARD))
GONE = replace(OURS.entries[0], schema_version=2, is_tombstone=True)
DELETED = replace(OURS, entries=(*OURS.entries, GONE, replace(OURS.entries[1], schema_version=3)))
NOTE = (Incompatibility("STORED_SCHEMA_UNCHANGED", "$", "the stored text stays"),)


@pytest.mark.parametrize(
    ("status", "kind", "part"),
    [
        (status_of(FIRST), "Ready", "equals version 0, and Pulsar's latest stays version 1"),
        (status_of(FIRST, OURS, SYNCED), "Ready", "producers with this schema write as version 0, "),
        (status_of(replace(SECOND, notes=NOTE)), "Ready", "the stored text stays"),
        (status_of(refusal(3)), "Ready", "RULE_0 at $.fields[0] after version 1: m (and 2 more)"),
        (
            status_of(SECOND, risks=findings(3)),
            "Compatible",
            "version 1 passes, but consumers may fail: RULE_0 at $.fields[0] after version 1: m (and 2 more)",
        ),
        (status_of(SECOND, risks=findings(2, "ä" * 2000)), "Compatible", "... (and 1 more)"),
        (status_of(FIRST, OURS, LACKS_SECOND), "InSync", "the versions from 1 on"),
        (
            status_of(FIRST, OURS, replace(SYNCED, topic_settings=OWN)),
            "Ready",
            "has its own strategy at the broker, BACKWARD",
        ),
        (
            status_of(replace(SECOND, schema_version=3), DELETED, SYNCED),
            "Ready",
            "versions before 2 were deleted at the broker, which serves them to no client",
        ),
        (status_of(FIRST, OURS), "Ready", "a broker had the versions up to 1; the policy names no broker now"),
        (after(REGISTERED, KeyError("secret")), "Ready", "(KeyError)"),
    ],
)
def test_messages(status: TopicSchemaStatus, kind: str, part: str) -> None:
    assert part in message(status, kind)


@pytest.mark.parametrize(
    ("strategy", "consumers"),
    [
        (Strategy.BACKWARD, "still checked against version 1"),
        (Strategy.FORWARD_TRANSITIVE, "still checked against version 1"),
        (Strategy.BACKWARD_TRANSITIVE, "checked against every version"),
        (Strategy.FULL_TRANSITIVE, "checked against every version"),
        (Strategy.ALWAYS_COMPATIBLE, "not checked at all"),
        (Strategy.ALWAYS_INCOMPATIBLE, "refused, whatever their schema"),
    ],
)
def test_a_rollback_has_the_effect_on_consumers_by_strategy(strategy: Strategy, consumers: str) -> None:
    verdict = replace(FIRST, strategy=EffectiveStrategy(strategy, StrategySource.NAMESPACE))
    assert message(status_of(verdict, OURS, SYNCED)).endswith(f"while new consumers are {consumers}")


def test_a_tombstone_is_no_version_and_only_one_at_the_broker_is_a_note() -> None:
    verdict = replace(SECOND, schema_version=3)
    status = status_of(verdict, DELETED, SYNCED)
    assert (status.version_count, len(status.versions)) == (3, 3)
    first = replace(OURS, entries=(replace(OURS.entries[0], is_tombstone=True), OURS.entries[1]))
    for other in (status_of(verdict, DELETED), AT_BROKER, status_of(SECOND, first, SYNCED)):
        assert "deleted" not in message(other)
    here = replace(OURS, numbered_by=NumberedBy.OPERATOR, claim=OTHER)
    assert "up to" not in message(status_of(FIRST, here))


def test_at_most_twenty_incompatibilities_are_listed_and_all_are_counted() -> None:
    status = status_of(refusal(33))
    assert (len(status.incompatibilities), status.incompatibility_count) == (20, 33)
    assert [each.rule for each in status.incompatibilities[:2]] == ["RULE_0", "RULE_1"]
    risky = status_of(SECOND, risks=findings(3))
    assert (risky.incompatibility_count, risky.incompatibilities) == (0, ())


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("a \ud800 b", "a ? b"),  # a lone surrogate, which no API server stores
        ("\ud800" * 600, "?" * 509 + "..."),
        ("ä" * 600, "ä" * 254 + "..."),
    ],
)
def test_a_message_is_cut_to_512_bytes_between_characters(text: str, stored: str) -> None:
    assert status_of(refusal(1, text)).incompatibilities[0].message == stored


def test_only_the_newest_hundred_versions_are_listed_oldest_first() -> None:
    many = replace(BOTH, entries=tuple(replace(BOTH.entries[0], schema_version=n) for n in range(250)))
    status = status_of(FIRST, many)
    assert [version.schema_version for version in status.versions] == list(range(150, 250))
    assert status.version_count == 250


@pytest.mark.parametrize("text", ["x", "ä", "🦀", "<", '"', "\0", "\u2028"])
def test_a_status_has_at_most_64_kilobytes(text: str) -> None:
    long = {"type": SchemaType.PROTOBUF_NATIVE, "origin": Origin.REGISTRY, "schema_version": 9_999}
    version = replace(BOTH.entries[0], source_mark="abcdefghi", **long)  # type: ignore[arg-type]
    many = replace(BOTH, entries=(version,) * 5_000, incarnation=1_000)
    large = tuple(Incompatibility("R" * 64, text * 3_000, text * 3_000, Direction.BACKWARD, 9_999) for _ in range(99))
    transitive = EffectiveStrategy(Strategy.BACKWARD_TRANSITIVE, StrategySource.NAMESPACE)
    for verdict, risks in (
        (Verdict(Outcome.INCOMPATIBLE, transitive, None, large), ()),
        (Verdict(Outcome.EQUAL_VERSION, transitive, 9_999, notes=large), large),
    ):
        stored = json.dumps(encode(status_of(verdict, many, None, risks)), separators=(",", ":"), ensure_ascii=False)
        assert len(stored.encode()) + 5 * sum(map(stored.count, "<>&")) + 3 * stored.count("\u2028") <= 64_000


@pytest.mark.parametrize(
    ("error", "other", "judged"),
    [
        (INVALID, "Stalled", "-"),
        (StalledError(Reason.INVALID_RESOURCE, "spec.type: is required"), "Stalled", "-"),
        (StalledError(Reason.INVALID_TOPIC, "'x' is not a topic name"), "Stalled", "-"),
        (NO_POLICY, "Reconciling", "?"),
        (StalledError(Reason.CLAIM_NOT_ALLOWED, "not allowed"), "Stalled", "?"),
        (StalledError(Reason.TOPIC_ALREADY_CLAIMED, "another holds it"), "Stalled", "?"),
        (StalledError(Reason.HISTORY_DAMAGED, "its hash is wrong"), "Stalled", "?"),
        (ForbiddenError("patch schemahistories: 403"), "Reconciling", "?"),
    ],
    ids=lambda value: getattr(value, "reason", None),
)
def test_an_error_sets_all_conditions(error: WaitingError | StalledError, other: str, judged: str) -> None:
    status = with_error(TopicSchemaStatus(), error, MOMENT)
    assert (
        summary(status.conditions)
        == f"{error.reason}: -Ready +{other} {judged}Compatible {judged}Registered {judged}InSync"
    )
    assert {condition.message for condition in status.conditions} == {describe_error(error)[1]}
    assert error.message in status.conditions[0].message


def test_a_text_that_does_not_parse_is_listed_with_rule_and_place() -> None:
    status = after(REGISTERED, INVALID)
    assert [(one.rule, one.path) for one in status.incompatibilities] == [("UNDEFINED_NAME", "$.fields[1].type")]
    assert (status.incompatibility_count, status.schema_version, status.latest_schema_version) == (1, None, 1)


@pytest.mark.parametrize(
    ("source", "generation", "stays"),
    [(StrategySource.TOPIC, 3, True), (StrategySource.TOPIC, 4, False), (StrategySource.NAMESPACE, 4, True)],
)
def test_an_error_leaves_the_fields_of_the_same_generation(
    source: StrategySource, generation: int, *, stays: bool
) -> None:
    strategy = EffectiveStrategyStatus(value=Strategy.FORWARD, source=source)
    before = replace(REGISTERED, effective_strategy=strategy)
    status = after(before, UNAVAILABLE, generation)
    assert (status.effective_strategy == strategy) == stays
    assert status.schema_version == (1 if generation == 3 else None)


def test_the_transition_time_moves_only_when_the_status_does() -> None:
    def again(verdict: Verdict, before: tuple[Condition, ...], generation: int) -> TopicSchemaStatus:
        return with_verdict(StatusInput(TWO.fingerprint, verdict, BOTH), ObservedAt(before, generation, LATER))

    assert again(SECOND, REGISTERED.conditions, 3) == REGISTERED
    edited = again(FIRST, REGISTERED.conditions, 4)
    assert {each.last_transition_time for each in edited.conditions} == {NOW}
    broken = after(edited, INVALID, 5)
    assert {each.last_transition_time for each in broken.conditions} == {LATER}
    still = with_error(broken, NO_POLICY, ObservedAt(broken.conditions, 5, "2026-11-21T08:00:00Z"))
    assert still.conditions[0].last_transition_time == LATER
    bare = Condition(type=ConditionType.READY, status=ConditionStatus.TRUE, reason="Registered")
    assert again(SECOND, (bare,), 1).conditions[0].last_transition_time == LATER
