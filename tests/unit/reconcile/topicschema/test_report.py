"""Design's table of status manners, row by row: what was seen, and what the status says of it."""

import json
from dataclasses import replace

import pytest

from support.schemas.examples import LATER, ME, NOW, history, record
from topicschema.api.metadata import Condition, ConditionStatus, ConditionType
from topicschema.api.topicschemas import EffectiveStrategyStatus, TopicSchemaStatus
from topicschema.api.wire import encode
from topicschema.cluster.errors import ForbiddenError
from topicschema.core.compatibility import Incompatibility
from topicschema.core.errors import InvalidSchemaError, Place, StalledError, WaitingError
from topicschema.core.history import Origin
from topicschema.core.policy import EffectiveStrategy, StrategySource
from topicschema.core.schemas import SchemaType
from topicschema.core.strategies import Direction, Strategy, UpgradeFirst
from topicschema.core.verdict import Outcome, Verdict
from topicschema.reconcile.runtime.conditions import ObservedAt, describe_error
from topicschema.reconcile.topicschema.status import StatusInput, with_error, with_verdict

ONE, TWO = record("id"), record("id", "note?")
BACKWARD = EffectiveStrategy(Strategy.BACKWARD, StrategySource.NAMESPACE)
BOTH = history(ONE, TWO, claim=ME)
MOMENT = ObservedAt((), 3, NOW)
TRUE, FALSE, UNKNOWN = ConditionStatus.TRUE, ConditionStatus.FALSE, ConditionStatus.UNKNOWN


def says(status: TopicSchemaStatus) -> dict[str, tuple[str, str]]:
    return {c.type.value: (c.status.value, c.reason) for c in status.conditions}


def registered(number: int, *told: str) -> TopicSchemaStatus:
    notes = tuple(Incompatibility("STORED_SCHEMA_UNCHANGED", "$", each) for each in told)
    verdict = Verdict(Outcome.EQUAL_VERSION, BACKWARD, number, notes=notes)
    return with_verdict(StatusInput((ONE, TWO)[number].fingerprint, verdict, BOTH), MOMENT)


def refused(count: int, message: str = "m") -> TopicSchemaStatus:
    reasons = tuple(
        Incompatibility(f"RULE_{n}", f"$.fields[{n}]", message, Direction.BACKWARD, 1) for n in range(count)
    )
    return with_verdict(StatusInput("sha256:f", Verdict(Outcome.INCOMPATIBLE, BACKWARD, None, reasons), BOTH), MOMENT)


def test_a_registered_version_is_ready() -> None:
    status = registered(1)
    assert says(status) == {
        "Ready": ("True", "Registered"),
        "Compatible": ("True", "Compatible"),
        "Registered": ("True", "Registered"),
        "InSync": ("True", "Registered"),
    }
    assert (status.schema_version, status.latest_schema_version, status.version_count) == (1, 1, 2)
    assert [version.schema_version for version in status.versions] == [0, 1]
    assert status.upgrade_first is UpgradeFirst.CONSUMERS
    assert status.fingerprint == TWO.fingerprint
    assert status.observed_generation == 3
    assert {condition.observed_generation for condition in status.conditions} == {3}


def test_an_older_version_is_ready_as_rolled_back_and_names_both_numbers() -> None:
    status = registered(0)
    assert says(status)["Ready"] == ("True", "RolledBack")
    assert (status.schema_version, status.latest_schema_version) == (0, 1)
    assert "version 0" in status.conditions[0].message
    assert "stays version 1" in status.conditions[0].message


def test_a_schema_equal_but_for_docs_is_registered_and_the_message_says_that_the_text_stays() -> None:
    status = registered(1, "what is stored stays as it was")
    assert says(status)["Ready"] == ("True", "Registered")
    assert "what is stored stays as it was" in status.conditions[0].message


def test_an_incompatible_edit_is_stalled_and_leaves_the_versions_untouched() -> None:
    status = refused(3)
    assert says(status) == {
        "Ready": ("False", "Incompatible"),
        "Stalled": ("True", "Incompatible"),
        "Compatible": ("False", "Incompatible"),
        "Registered": ("False", "Incompatible"),
        "InSync": ("False", "Incompatible"),
    }
    assert (status.schema_version, status.latest_schema_version) == (None, 1)
    assert status.versions == registered(1).versions
    assert "RULE_0 at $.fields[0] after version 1: m (and 2 more)" in status.conditions[0].message
    assert [one.rule for one in status.incompatibilities] == ["RULE_0", "RULE_1", "RULE_2"]


def risky(count: int, message: str = "m") -> TopicSchemaStatus:
    risks = tuple(Incompatibility(f"RISK_{n}", f"$.fields[{n}]", message, None, 0) for n in range(count))
    return with_verdict(StatusInput(TWO.fingerprint, Verdict(Outcome.EQUAL_VERSION, BACKWARD, 1), BOTH, risks), MOMENT)


def test_what_passes_and_would_hurt_consumers_is_ready_and_compatible_with_a_risk() -> None:
    status = risky(3)
    assert says(status) == {
        "Ready": ("True", "Registered"),
        "Compatible": ("True", "ConsumerRisk"),
        "Registered": ("True", "Registered"),
        "InSync": ("True", "Registered"),
    }
    (compatible,) = (c for c in status.conditions if c.type is ConditionType.COMPATIBLE)
    assert compatible.message == (
        "version 1 passes, but consumers may fail: RISK_0 at $.fields[0] after version 0: m (and 2 more)"
    )
    assert (status.schema_version, status.incompatibility_count, status.incompatibilities) == (1, 0, ())


def test_a_long_risk_leaves_room_for_how_many_there_are() -> None:
    (compatible,) = (c for c in risky(2, "ä" * 2000).conditions if c.type is ConditionType.COMPATIBLE)
    assert compatible.message.endswith("... (and 1 more)")


def test_at_most_twenty_incompatibilities_are_listed_and_all_are_counted() -> None:
    status = refused(33)
    assert (len(status.incompatibilities), status.incompatibility_count) == (20, 33)


def test_half_of_a_surrogate_pair_is_told_as_a_question_mark_for_no_api_server_would_keep_it() -> None:
    assert refused(1, "a \ud800 b").incompatibilities[0].message == "a ? b"
    assert refused(1, "\ud800" * 600).incompatibilities[0].message == "?" * 509 + "..."


def test_a_long_message_is_cut_to_512_bytes_between_characters() -> None:
    (one,) = refused(1, "ä" * 600).incompatibilities
    assert len(one.message.encode()) <= 512
    assert one.message.endswith("ä...")


def test_only_the_newest_hundred_versions_are_listed_oldest_first() -> None:
    many = replace(BOTH, entries=tuple(replace(BOTH.entries[0], schema_version=n) for n in range(250)))
    status = with_verdict(StatusInput("sha256:f", Verdict(Outcome.EQUAL_VERSION, BACKWARD, 0), many), MOMENT)
    assert [version.schema_version for version in status.versions] == list(range(150, 250))
    assert status.version_count == 250
    assert len(str(encode(status))) < 64_000


@pytest.mark.parametrize("text", ["x", "ä", "🦀", "<", '"', "\0", "\u2028"])
def test_a_status_has_at_most_64_kilobytes_whatever_it_tells(text: str) -> None:
    version = replace(
        BOTH.entries[0],
        type=SchemaType.PROTOBUF_NATIVE,
        origin=Origin.REGISTRY,
        schema_version=9_999,
        source_mark="abcdefghi",
    )
    many = replace(BOTH, entries=(version,) * 5_000, incarnation=1_000)
    found = tuple(Incompatibility("R" * 64, text * 3_000, text * 3_000, Direction.BACKWARD, 9_999) for _ in range(99))
    transitive = EffectiveStrategy(Strategy.BACKWARD_TRANSITIVE, StrategySource.NAMESPACE)
    for verdict, risks in (
        (Verdict(Outcome.INCOMPATIBLE, transitive, None, found), ()),
        (Verdict(Outcome.EQUAL_VERSION, transitive, 9_999, notes=found), found),
    ):
        status = with_verdict(StatusInput(version.fingerprint, verdict, many, risks), MOMENT)
        stored = json.dumps(encode(status), separators=(",", ":"), ensure_ascii=False)
        assert len(stored.encode()) + 5 * sum(map(stored.count, "<>&")) + 3 * stored.count("\u2028") <= 64_000


INVALID = InvalidSchemaError("UNDEFINED_NAME", "no type is named Money", Place("$.fields[1].type"))


@pytest.mark.parametrize(
    ("error", "ready", "other", "judged"),
    [
        (INVALID, FALSE, ConditionType.STALLED, FALSE),
        (StalledError("InvalidResource", "spec.type: is required"), FALSE, ConditionType.STALLED, FALSE),
        (StalledError("InvalidTopic", "'x' is not a topic name"), FALSE, ConditionType.STALLED, FALSE),
        (WaitingError("PolicyNotFound", "no policy"), FALSE, ConditionType.RECONCILING, UNKNOWN),
        (StalledError("ClaimNotAllowed", "not allowed"), FALSE, ConditionType.STALLED, UNKNOWN),
        (StalledError("TopicAlreadyClaimed", "another holds it"), FALSE, ConditionType.STALLED, UNKNOWN),
        (StalledError("RecordDamaged", "its hash is wrong"), FALSE, ConditionType.STALLED, UNKNOWN),
        (ForbiddenError("patch schemahistories: 403"), FALSE, ConditionType.RECONCILING, UNKNOWN),
    ],
    ids=lambda value: getattr(value, "reason", None),
)
def test_an_error_is_told_as_its_kind_has_it(
    error: WaitingError | StalledError, ready: ConditionStatus, other: ConditionType, judged: ConditionStatus
) -> None:
    status = with_error(TopicSchemaStatus(), error, MOMENT)
    assert says(status) == {
        "Ready": (ready.value, error.reason),
        other.value: ("True", error.reason),
        **dict.fromkeys(("Compatible", "Registered", "InSync"), (judged.value, error.reason)),
    }
    assert {condition.message for condition in status.conditions} == {describe_error(error)[1]}
    assert error.message in status.conditions[0].message


def test_a_lost_history_leaves_what_was_seen_of_it_in_the_status_as_the_evidence() -> None:
    status = with_error(registered(1), StalledError("HistoryLost", "no history"), MOMENT)
    assert says(status) == {
        "Ready": ("False", "HistoryLost"),
        "Stalled": ("True", "HistoryLost"),
        "Compatible": ("Unknown", "HistoryLost"),
        "Registered": ("False", "HistoryLost"),
        "InSync": ("False", "HistoryLost"),
    }
    assert (status.schema_version, status.latest_schema_version, status.version_count) == (None, 1, 2)
    assert [version.schema_version for version in status.versions] == [0, 1]


def test_a_bug_is_unknown_and_its_text_which_may_quote_anything_is_not_told() -> None:
    status = with_error(registered(1), KeyError("secret"), MOMENT)
    assert says(status)["Ready"] == ("Unknown", "InternalError")
    assert says(status)["Reconciling"] == ("True", "InternalError")
    assert "KeyError" in status.conditions[0].message
    assert "secret" not in str(encode(status))


def test_a_text_that_does_not_parse_is_listed_with_rule_and_place() -> None:
    status = with_error(registered(1), INVALID, MOMENT)
    assert [(one.rule, one.path) for one in status.incompatibilities] == [("UNDEFINED_NAME", "$.fields[1].type")]
    assert status.incompatibility_count == 1
    assert (status.schema_version, status.latest_schema_version, status.version_count) == (None, 1, 2)


def test_while_something_is_awaited_the_report_of_the_same_generation_stands() -> None:
    before = registered(1)
    assert with_error(before, WaitingError("PolicyNotFound", ""), MOMENT).schema_version == 1
    assert with_error(before, WaitingError("PolicyNotFound", ""), ObservedAt((), 4, NOW)).schema_version is None


def test_a_strategy_of_the_topic_s_own_is_told_of_no_other_generation_than_it_was_seen_with() -> None:
    def kept(source: StrategySource, generation: int) -> bool:
        seen = EffectiveStrategyStatus(value=Strategy.FORWARD, source=source)
        before = TopicSchemaStatus(observed_generation=3, effective_strategy=seen)
        after = with_error(before, WaitingError("BrokerUnavailable", ""), ObservedAt((), generation, NOW))
        return after.effective_strategy == seen

    assert kept(StrategySource.TOPIC, 3)
    assert not kept(StrategySource.TOPIC, 4)
    assert kept(StrategySource.NAMESPACE, 4)


def test_the_transition_time_moves_only_when_the_status_does() -> None:
    before = registered(1)
    edited = with_verdict(
        StatusInput(TWO.fingerprint, Verdict(Outcome.EQUAL_VERSION, BACKWARD, 0), BOTH),
        ObservedAt(before.conditions, 4, LATER),
    )
    assert says(edited)["Ready"] == ("True", "RolledBack")
    assert {condition.last_transition_time for condition in edited.conditions} == {NOW}
    broken = with_error(edited, INVALID, ObservedAt(edited.conditions, 5, LATER))
    times = {condition.type: condition.last_transition_time for condition in broken.conditions}
    assert set(times.values()) == {LATER}
    still = with_error(
        broken, WaitingError("PolicyNotFound", ""), ObservedAt(broken.conditions, 5, "2026-11-21T08:00:00Z")
    )
    assert still.conditions[0].last_transition_time == LATER


def test_a_condition_without_a_time_gets_one() -> None:
    bare = Condition(type=ConditionType.READY, status=TRUE, reason="Registered")
    status = with_verdict(
        StatusInput(TWO.fingerprint, Verdict(Outcome.EQUAL_VERSION, BACKWARD, 1), BOTH), ObservedAt((bare,), 1, LATER)
    )
    assert status.conditions[0].last_transition_time == LATER


def test_the_same_world_gives_the_same_status() -> None:
    before = registered(1)
    again = with_verdict(
        StatusInput(TWO.fingerprint, Verdict(Outcome.EQUAL_VERSION, BACKWARD, 1), BOTH),
        ObservedAt(before.conditions, 3, LATER),
    )
    assert again == before
