"""Design's table of status manners, the rows about a broker."""

from dataclasses import replace

import pytest

from support.schemas.examples import LATER, ME, NOW, OTHER, history, record
from topicschema.api.topicschemas import TopicSchemaStatus
from topicschema.broker.errors import BrokerUnavailableError
from topicschema.core.alignment import HistoryAhead, InSync
from topicschema.core.broker_state import BrokerState
from topicschema.core.errors import StalledError, TopicSchemaError, WaitingError
from topicschema.core.history import Counter, Origin
from topicschema.core.overrides import Overrides
from topicschema.core.policy import EffectiveStrategy, StrategySource
from topicschema.core.remote import TopicSettings
from topicschema.core.strategies import Strategy
from topicschema.core.verdict import Outcome, Verdict
from topicschema.reconcile.runtime.conditions import ObservedAt
from topicschema.reconcile.topicschema.status import StatusInput, failed, is_out_of_sight, out_of_sight, settled

ONE, TWO = record("id"), record("id", "note?")
FULL = EffectiveStrategy(Strategy.FULL, StrategySource.NAMESPACE)
OURS = replace(history(ONE, TWO, claim=ME), counted_by=Counter.BROKER)
FOREIGN = replace(OURS, entries=(OURS.entries[0], replace(OURS.entries[1], origin=Origin.BROKER)))
MOMENT = ObservedAt((), 3, NOW)
EQUAL, NEXT = Verdict(Outcome.EQUAL_VERSION, FULL, 0), Verdict(Outcome.NEXT_VERSION, FULL, 2)
THERE = BrokerState(InSync())
OBSERVED = replace(THERE, may_write=False)
AWAY = BrokerUnavailableError("no server answers")
REGISTERED = settled(StatusInput(TWO.fingerprint, replace(EQUAL, schema_version=1), OURS, (), THERE), MOMENT)


def says(status: TopicSchemaStatus) -> dict[str, tuple[str, str]]:
    return {c.type.value: (c.status.value, c.reason) for c in status.conditions}


def message(status: TopicSchemaStatus, kind: str = "Ready") -> str:
    return next(c.message for c in status.conditions if c.type == kind)


def test_a_newer_version_of_others_is_not_in_sync_and_ready_all_the_same() -> None:
    status = settled(StatusInput(ONE.fingerprint, EQUAL, FOREIGN, (), THERE), MOMENT)
    assert says(status) == {
        "Ready": ("True", "Registered"),
        "Compatible": ("True", "Compatible"),
        "Registered": ("True", "Registered"),
        "InSync": ("False", "UnmanagedVersion"),
    }
    assert (status.schema_version, status.latest_schema_version) == (0, 1)


def test_a_newer_version_of_ours_is_a_rollback_that_says_what_clients_will_do() -> None:
    status = settled(StatusInput(ONE.fingerprint, EQUAL, OURS, (), THERE), MOMENT)
    assert says(status)["InSync"] == ("True", "RolledBack")
    assert "producers with this schema write as version 0" in message(status)
    assert "consumers are still checked against version 1" in message(status)


@pytest.mark.parametrize(
    ("strategy", "told"),
    [
        (Strategy.BACKWARD, "still checked against version 1"),
        (Strategy.FORWARD_TRANSITIVE, "still checked against version 1"),
        (Strategy.BACKWARD_TRANSITIVE, "checked against every version"),
        (Strategy.FULL_TRANSITIVE, "checked against every version"),
        (Strategy.ALWAYS_COMPATIBLE, "not checked at all"),
        (Strategy.ALWAYS_INCOMPATIBLE, "refused, whatever their schema"),
    ],
)
def test_a_rollback_says_of_consumers_what_the_strategy_does_to_them(strategy: Strategy, told: str) -> None:
    verdict = replace(EQUAL, strategy=EffectiveStrategy(strategy, StrategySource.NAMESPACE))
    status = settled(StatusInput(ONE.fingerprint, verdict, OURS, (), THERE), MOMENT)
    assert message(status).endswith(f"while new consumers are {told}")


def test_without_a_broker_nobody_else_registers() -> None:
    assert says(settled(StatusInput(ONE.fingerprint, EQUAL, FOREIGN), MOMENT))["InSync"] == ("True", "RolledBack")


def test_who_only_observes_is_ready_and_says_what_is_missing() -> None:
    status = settled(StatusInput("sha256:f", NEXT, OURS, (), OBSERVED), MOMENT)
    assert says(status) == {
        "Ready": ("True", "Observed"),
        "Compatible": ("True", "Compatible"),
        "Registered": ("False", "Observed"),
        "InSync": ("False", "Observed"),
    }
    assert status.schema_version is None


@pytest.mark.parametrize(
    ("lacks", "registered"), [(0, ("False", "Observed")), (1, ("True", "RolledBack"))], ids=["all", "the newest"]
)
def test_what_an_observed_broker_lacks_is_not_registered_there(lacks: int, registered: tuple[str, str]) -> None:
    state = replace(OBSERVED, alignment=HistoryAhead(OURS.entries[lacks:]))
    status = settled(StatusInput(ONE.fingerprint, EQUAL, OURS, (), state), MOMENT)
    assert says(status) == {
        "Ready": ("True", "Observed"),
        "Compatible": ("True", "Compatible"),
        "Registered": registered,
        "InSync": ("False", "Observed"),
    }
    assert status.schema_version == (None if lacks == 0 else 0)
    assert f"from version {lacks} on" in message(status, "InSync")


@pytest.mark.parametrize(
    ("stopped", "kind"),
    [(StalledError("RefusedByBroker", "no"), "Stalled"), (WaitingError("TopicNotFound", "not yet"), "Reconciling")],
)
@pytest.mark.parametrize(("verdict", "is_registered"), [(EQUAL, "True"), (NEXT, "False")])
def test_what_stops_a_schema_that_passes_is_told_beside_what_was_seen(
    stopped: TopicSchemaError, kind: str, verdict: Verdict, is_registered: str
) -> None:
    status = settled(StatusInput(ONE.fingerprint, verdict, OURS, (), THERE), MOMENT, stopped)
    assert {name: told[0] for name, told in says(status).items()} == {
        "Ready": "False",
        kind: "True",
        "Compatible": "True",
        "Registered": is_registered,
        "InSync": "False",
    }
    assert says(status)["Ready"] == ("False", stopped.reason)
    assert len(status.versions) == 2


def test_a_broker_that_is_away_leaves_ready_what_was_settled_of_this_generation() -> None:
    assert is_out_of_sight(REGISTERED, AWAY, 3)
    status = out_of_sight(REGISTERED, AWAY, ObservedAt(REGISTERED.conditions, 3, LATER))
    assert says(status) == {**says(REGISTERED), "InSync": ("Unknown", "BrokerUnavailable")}
    assert replace(status, conditions=()) == replace(REGISTERED, conditions=())
    assert out_of_sight(status, AWAY, ObservedAt(status.conditions, 3, LATER)) == status


def test_other_errors_and_edits_are_not_only_out_of_sight() -> None:
    assert not is_out_of_sight(REGISTERED, AWAY, 4)
    assert not is_out_of_sight(REGISTERED, StalledError("HistoryLost", "gone"), 3)
    assert not is_out_of_sight(failed(REGISTERED, AWAY, ObservedAt(REGISTERED.conditions, 3, LATER)), AWAY, 3)


def test_a_broker_that_is_away_keeps_an_edit_waiting() -> None:
    status = failed(REGISTERED, AWAY, ObservedAt(REGISTERED.conditions, 4, LATER))
    assert says(status)["Ready"] == ("False", "BrokerUnavailable")
    assert says(status)["Reconciling"] == ("True", "BrokerUnavailable")
    assert status.schema_version is None


def test_what_is_kept_at_the_broker_though_nobody_manages_it_is_told() -> None:
    own = Overrides(TopicSettings(), TopicSettings(Strategy.BACKWARD))
    status = settled(StatusInput(ONE.fingerprint, EQUAL, OURS, (), replace(THERE, overrides=own)), MOMENT)
    assert "keeps a strategy of its own at the broker, BACKWARD" in message(status)


def test_what_was_deleted_at_the_broker_is_told_of_and_the_tombstone_is_no_version() -> None:
    gone = replace(OURS.entries[0], schema_version=2, is_tombstone=True)
    anew = replace(OURS, entries=(*OURS.entries, gone, replace(OURS.entries[1], schema_version=3)))
    verdict = replace(EQUAL, schema_version=3)
    status = settled(StatusInput(TWO.fingerprint, verdict, anew, (), THERE), MOMENT)
    assert "versions before 2 were deleted at the broker, which serves them to nobody any more" in message(status)
    assert (status.version_count, len(status.versions)) == (3, 3)
    assert "deleted" not in message(settled(StatusInput(TWO.fingerprint, verdict, anew), MOMENT))
    assert "deleted" not in message(REGISTERED)


def test_a_tombstone_before_the_first_version_hides_nothing() -> None:
    first = replace(OURS, entries=(replace(OURS.entries[0], is_tombstone=True), OURS.entries[1]))
    status = settled(StatusInput(TWO.fingerprint, replace(EQUAL, schema_version=1), first, (), THERE), MOMENT)
    assert "deleted" not in message(status)


def test_a_policy_that_names_no_broker_any_more_is_told_of_while_its_count_goes_on() -> None:
    status = settled(StatusInput(ONE.fingerprint, EQUAL, OURS), MOMENT)
    assert "counted up to version 1" in message(status)
    here = replace(OURS, counted_by=Counter.OPERATOR, claim=OTHER)
    assert "counted" not in message(settled(StatusInput(ONE.fingerprint, EQUAL, here), MOMENT))
