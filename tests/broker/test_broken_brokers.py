"""Every way in which a broker breaks, by what a person sees of a real controller, and that nothing comes of it.

All breakages are gone through at once; each test then asks one thing of each of them. The course begins with the first
test before a broker, and tests that need no cluster run meanwhile (see conftest.py): what is slow is that a controller
tries again, after half a minute. A sample has one breakage of each kind, and ends once all is told; a full run has
them all, and counts requests for a minute.
"""

from concurrent.futures import Future

import pytest

from support.kubernetes.watched_namespace import conditions, says
from support.pulsar.breakage_course import EDITS
from support.pulsar.breakage_scene import EDITED, FRESH, KEPT, LEAVING, ROLES, Scene
from support.pulsar.breakages import BREAKAGES, Breakage

pytestmark = [pytest.mark.timeout(840), pytest.mark.broker]

_REFUSED = "spec.schema: FIELD_WITHOUT_DEFAULT at $.fields[1]: "
_COUNTED = [breakage for breakage in BREAKAGES if breakage.a_minute is not None]
_each_breakage = pytest.mark.parametrize("breakage", BREAKAGES, ids=lambda breakage: breakage.name)


@pytest.fixture(scope="module")
def scenes(breakages_under_way: Future[dict[str, Scene]]) -> dict[str, Scene]:
    """All breakages, gone through: most of it while other tests ran."""
    return breakages_under_way.result()


def told(scene: Scene, role: str) -> dict[str, tuple[str, str]]:
    """Status and reason of each condition of the topic, while the broker was broken."""
    found = conditions(scene.told[role]["status"])
    return {kind: (condition["status"], condition["reason"]) for kind, condition in found.items()}


@_each_breakage
def test_what_was_registered_stays_ready_and_says_that_it_is_out_of_sight(
    scenes: dict[str, Scene], breakage: Breakage
) -> None:
    kept = told(scenes[breakage.name], KEPT)
    in_sync = ("Unknown", breakage.reason) if breakage.hides else ("True", "Registered")
    assert kept["Ready"] == kept["Registered"] == ("True", "Registered")
    assert kept["InSync"] == in_sync
    assert "Stalled" not in kept
    assert "Reconciling" not in kept


@_each_breakage
def test_a_policy_stays_in_force_unless_its_settings_are_known_to_be_gone(
    scenes: dict[str, Scene], breakage: Breakage
) -> None:
    policy = conditions(scenes[breakage.name].policy["status"])
    assert policy["Ready"]["reason"] == (breakage.reason if breakage.ends_policy else "Active")
    assert policy["InSync"]["reason"] == (breakage.reason if breakage.hides_policy else "Applied")
    assert (policy["InSync"]["status"] == "True") is not breakage.hides_policy


@_each_breakage
def test_what_could_not_be_written_is_not_ready_and_says_why(scenes: dict[str, Scene], breakage: Breakage) -> None:
    scene = scenes[breakage.name]
    waits = "Stalled" if breakage.is_stalled else "Reconciling"
    for role in (EDITED, FRESH):
        found = told(scene, role)
        assert found["Ready"] == ("False", breakage.reason)
        assert found[waits] == ("True", breakage.reason)
        assert found["Registered"][0] != "True"
    assert told(scene, LEAVING)["Ready"] == ("False", breakage.on_deletion or breakage.reason)
    assert scene.yes == set()


@_each_breakage
def test_nothing_is_lost_or_deleted_or_stored_twice(scenes: dict[str, Scene], breakage: Breakage) -> None:
    scene = scenes[breakage.name]
    assert scene.stored == {KEPT: [0], EDITED: [0], FRESH: None, LEAVING: [0]}
    for role in (KEPT, EDITED, LEAVING):
        assert scene.during[role].entries == scene.before[role].entries
        assert len(scene.told[role]["status"]["versions"]) == 1
    assert scene.during[FRESH].entries == ()


@pytest.mark.full
@pytest.mark.parametrize("breakage", _COUNTED, ids=lambda breakage: breakage.name)
def test_the_broker_is_asked_no_more_often_than_is_stated(scenes: dict[str, Scene], breakage: Breakage) -> None:
    scene = scenes[breakage.name]
    requests = len(scene.calls) or scene.connections
    most = max(map(scene.asked_of, ROLES)) if breakage.is_of_topics else requests
    assert breakage.a_minute is not None
    assert requests, "nothing was asked while it was broken"
    assert most <= breakage.a_minute


@_each_breakage
def test_edits_are_reviewed_all_the_while(scenes: dict[str, Scene], breakage: Breakage) -> None:
    edits = scenes[breakage.name].edits
    assert len(edits) == EDITS
    assert [each for each in edits if each.status != 422 or _REFUSED not in each.text] == []


@_each_breakage
def test_all_comes_right_without_help_and_then_nothing_is_written(scenes: dict[str, Scene], breakage: Breakage) -> None:
    scene = scenes[breakage.name]
    assert scene.recovered is not None, {role: says(wire["status"]) for role, wire in scene.after.items()}
    assert scene.agreed == {KEPT: [0], EDITED: [0, 1], FRESH: [0]}
    assert scene.left == [0, 1]  # the second is the deletion
    assert scene.is_forgotten
    assert scene.rewritten == []
