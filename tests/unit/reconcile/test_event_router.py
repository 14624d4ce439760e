from contextlib import suppress
from typing import Any

import pytest

from topicschema.core.topics import PulsarNamespaceKey
from topicschema.reconcile.event_router import Doorbell, history_key
from topicschema.reconcile.object_index import Neighbours, TopicSight
from topicschema.reconcile.own_writes import Echoes
from topicschema.reconcile.work_queue import Key
from topicschema.spark.jobs import TOPIC_LABEL

TOPICS, POLICIES = "topicschemas", "namespaceschemapolicies"
HISTORIES, NAMESPACES = "schemahistories", "namespaces"
CREATED, CHANGED = Key(TOPICS, "shop", "created"), Key(TOPICS, "shop", "changed")
ORDERS = Key(POLICIES, "shop", "orders")
POD = Key("pods", "shop", "created-check-1")
ANNOTATION = "topicschema.io/pulsar-namespaces"


class Ears:
    """A doorbell with what it remembers, and who was rung."""

    def __init__(self) -> None:
        self.neighbours, self.echoes = Neighbours(), Echoes()
        self._rung: dict[Key, float] = {}
        self.bell = Doorbell(self.neighbours, self.echoes, self._rung.__setitem__)

    def hear(self, key: Key, revision: str = "1", *, is_deleted: bool = False, **metadata: Any) -> set[Key]:
        """Who is rung when this is heard."""
        self.tell(key, revision, is_deleted=is_deleted, **metadata)
        return self.rung()

    def tell(self, key: Key, revision: str = "1", *, is_listed: bool = False, **told: Any) -> None:
        """Have this heard."""
        is_deleted = told.pop("is_deleted", False)
        metadata = {"namespace": key.namespace, "name": key.name, "resourceVersion": revision, **told}
        self.bell.heard(key.plural, metadata, is_deleted=is_deleted, is_listed=is_listed)

    def list(self, plural: str, *keys: Key) -> set[Key]:
        """Who is rung when this list has come."""
        self.bell.listed(plural, [{"namespace": key.namespace, "name": key.name} for key in keys])
        return self.rung()

    def rung(self) -> set[Key]:
        rung = set(self._rung)
        self._rung.clear()
        return rung

    def ahead(self) -> set[Key]:
        """Who was rung to be looked at before others."""
        ahead = {key for key, after in self._rung.items() if after < 0}
        self._rung.clear()
        return ahead


@pytest.fixture
def ears() -> Ears:
    return Ears()


@pytest.mark.parametrize("key", [CREATED, ORDERS])
def test_what_exists_changes_or_is_deleted_is_rung(ears: Ears, key: Key) -> None:
    assert ears.hear(key) == {key}
    assert ears.hear(key, "2") == {key}
    assert ears.hear(key, "3", is_deleted=True) == {key}


def test_an_edit_of_labels_and_annotations_alone_of_a_ready_topic_rings_nobody(ears: Ears) -> None:
    ears.hear(CREATED, generation=1)
    ears.neighbours.saw_topic(CREATED, TopicSight(is_ready=True))
    edited: dict[str, Any] = {
        "labels": {"a": "b"},
        "annotations": {"note": "c"},
        "managedFields": [{"manager": "kubectl"}],
    }
    assert ears.hear(CREATED, "2", generation=1, **edited) == set()
    assert ears.hear(CREATED, "3", generation=1, is_listed=True) == set()


@pytest.mark.parametrize(
    "edited",
    [
        {"generation": 2},
        {"deletionTimestamp": "2026-01-01T00:00:00Z"},
        {"finalizers": ["theirs"], "uid": "another"},
        {"annotations": {"topicschema.io/release": "true"}},
        {"labels": {"topicschema.io/any": "b"}},
        {"managedFields": [{"manager": "kubectl", "subresource": "status"}]},
    ],
)
def test_any_other_edit_of_a_ready_topic_rings_it_once(ears: Ears, edited: dict[str, Any]) -> None:
    ears.hear(CREATED, generation=1)
    ears.neighbours.saw_topic(CREATED, TopicSight(is_ready=True))
    for revision, rung in (("2", {CREATED}), ("3", set())):
        assert ears.hear(CREATED, revision, **{"generation": 1, **edited}) == rung


def test_a_label_has_a_topic_that_is_not_ready_looked_at(ears: Ears) -> None:
    ears.hear(CREATED, generation=1)
    ears.neighbours.saw_topic(CREATED, TopicSight(is_ready=False))
    assert ears.hear(CREATED, "2", generation=1, labels={"a": "b"}) == {CREATED}


def test_a_policy_heard_of_before_its_namespace_is_rung_as_its_leave_may_have_changed(ears: Ears) -> None:
    ears.hear(ORDERS)
    assert ears.hear(Key(NAMESPACES, "", "shop"), annotations={ANNOTATION: "a/*"}) == {ORDERS}


def test_two_topics_may_write_one_record_at_once_and_both_hear_of_what_is_not_their_own_write(ears: Ears) -> None:
    record, rung = history_key("h-1"), []
    with ears.echoes.writing(record, lambda: rung.append("first")):
        with ears.echoes.writing(record, lambda: rung.append("second")):
            assert ears.hear(record, "7") == set()
            ears.echoes.know(record, "7")
        assert ears.hear(record, "8") == set()
    assert rung == ["first"]


def test_a_write_that_outlasts_another_of_the_same_record_still_holds_its_echo_back(ears: Ears) -> None:
    record, rung = history_key("h-1"), []
    first = ears.echoes.writing(record, lambda: rung.append("first"))
    second = ears.echoes.writing(record, lambda: rung.append("second"))
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert ears.hear(record, "8") == set()
    second.__exit__(None, None, None)
    assert rung == ["second"]


def test_the_echo_of_our_own_write_rings_nobody_but_a_later_change_does(ears: Ears) -> None:
    ears.echoes.know(CREATED, "7")
    assert ears.hear(CREATED, "7") == set()
    assert ears.hear(CREATED, "7", is_deleted=True) == {CREATED}
    assert ears.hear(CREATED, "8") == {CREATED}


def test_an_event_that_comes_before_the_answer_to_its_write_is_an_echo_too(ears: Ears) -> None:
    rung = []
    with ears.echoes.writing(CREATED, lambda: rung.append(CREATED)):
        assert ears.hear(CREATED, "7") == set()
        ears.echoes.know(CREATED, "7")
    assert rung == []


def test_somebody_elses_change_during_our_write_is_rung_after_it(ears: Ears) -> None:
    rung = []
    with ears.echoes.writing(CREATED, lambda: rung.append(CREATED)):
        assert ears.hear(CREATED, "6") == set()
        assert ears.hear(CREATED, "7") == set()
        ears.echoes.know(CREATED, "7")
    assert rung == [CREATED]


def test_a_change_during_a_write_that_fails_is_rung(ears: Ears) -> None:
    rung = []
    with suppress(ZeroDivisionError), ears.echoes.writing(CREATED, lambda: rung.append(CREATED)):
        ears.hear(CREATED, "7")
        raise ZeroDivisionError
    assert rung == [CREATED]


def test_what_was_deleted_while_nobody_listened_is_rung_after_the_next_list(ears: Ears) -> None:
    ears.hear(CREATED)
    ears.hear(CHANGED)
    assert ears.list(TOPICS, CREATED) == {CHANGED}


def test_a_list_that_names_what_is_known_rings_nobody(ears: Ears) -> None:
    ears.hear(CREATED)
    assert ears.list(TOPICS, CREATED, CHANGED) == set()
    assert ears.list(NAMESPACES, Key(NAMESPACES, "", "shop")) == set()


def test_the_first_list_of_topics_lets_policies_count(ears: Ears) -> None:
    ears.hear(ORDERS)
    assert ears.list(TOPICS, CREATED) == {ORDERS}
    assert ears.list(TOPICS, CREATED) == set()


def test_a_changed_policy_rings_the_topics_of_its_pulsar_namespace_and_those_that_no_pass_has_reached(
    ears: Ears,
) -> None:
    elsewhere, of_another = Key(TOPICS, "elsewhere", "created"), Key(TOPICS, "shop", "of-another")
    for topic in (CREATED, CHANGED, elsewhere, of_another):
        ears.hear(topic)
    for topic, pulsar_namespace in ((CREATED, "shop/orders"), (elsewhere, "shop/orders"), (of_another, "shop/returns")):
        ears.neighbours.saw_topic(topic, TopicSight(f"{pulsar_namespace}/created", pulsar_namespace))
    assert ears.hear(ORDERS, "1", uid="u", generation=1) == {ORDERS}
    assert ears.neighbours.saw_policy(ORDERS, PulsarNamespaceKey("pulsar", "shop", "orders"))
    assert not ears.neighbours.saw_policy(ORDERS, PulsarNamespaceKey("pulsar", "shop", "orders"))
    assert ears.hear(ORDERS, "2", uid="u", generation=1) == {ORDERS}
    assert ears.hear(ORDERS, "3", uid="u", generation=2) == {ORDERS, CREATED, CHANGED}
    assert ears.hear(ORDERS, "4", uid="another", generation=2) == {ORDERS, CREATED, CHANGED}


def test_a_changed_annotation_of_a_namespace_rings_its_policies(ears: Ears) -> None:
    shop, elsewhere = Key(NAMESPACES, "", "shop"), Key(POLICIES, "elsewhere", "orders")
    ears.hear(ORDERS)
    ears.hear(elsewhere)
    assert ears.hear(shop) == {ORDERS}
    assert ears.hear(shop, "2", labels={"a": "b"}) == set()
    assert ears.hear(shop, "3", annotations={ANNOTATION: "shop/*"}) == {ORDERS}
    assert ears.hear(shop, "4", annotations={ANNOTATION: "shop/*", "more": "x"}) == set()
    assert ears.hear(shop, "5", annotations=None) == {ORDERS}


def test_a_record_that_somebody_else_touched_rings_its_topics(ears: Ears) -> None:
    ears.neighbours.saw_topic(CREATED, TopicSight("shop/orders/created", "shop/orders", "h-1"))
    ears.echoes.know(history_key("h-1"), "5")
    record = Key(HISTORIES, "topicschema-system", "h-1")
    assert ears.hear(record, "5") == set()
    assert ears.hear(record, "6") == {CREATED}
    assert ears.hear(record, "6", is_deleted=True) == {CREATED}
    assert ears.hear(Key(HISTORIES, "topicschema-system", "h-2"), "1") == set()


def test_a_record_deleted_while_nobody_listened_rings_its_topics(ears: Ears) -> None:
    ears.neighbours.saw_topic(CREATED, TopicSight("shop/orders/created", "shop/orders", "h-1"))
    ears.neighbours.saw_topic(CHANGED, TopicSight("shop/orders/changed", "shop/orders", "h-2"))
    ears.echoes.know(history_key("h-1"), "5")
    ears.echoes.know(history_key("h-2"), "")
    assert ears.list(HISTORIES, Key(HISTORIES, "topicschema-system", "h-1")) == set()
    assert ears.list(HISTORIES) == {CREATED}


def test_topics_that_share_a_topic_know_each_other_until_one_is_gone() -> None:
    neighbours = Neighbours()
    sight = TopicSight("shop/orders/created", "shop/orders")
    assert neighbours.saw_topic(CREATED, sight)
    assert not neighbours.saw_topic(CREATED, sight)
    neighbours.saw_topic(CHANGED, sight)
    assert neighbours.sharing(sight) == {CREATED, CHANGED}
    assert neighbours.lost_topic(CREATED) == sight
    assert neighbours.sharing(sight) == {CHANGED}


def test_topics_are_counted_only_when_every_one_of_them_was_seen() -> None:
    neighbours = Neighbours()
    neighbours.known[TOPICS] |= {CREATED, CHANGED}
    neighbours.saw_topic(CREATED, TopicSight())
    assert neighbours.complete_sights("shop") is None
    neighbours.saw_topic(CHANGED, TopicSight())
    assert neighbours.complete_sights("shop") is None
    neighbours.are_topics_listed = True
    assert neighbours.complete_sights("shop") == {CREATED: TopicSight(), CHANGED: TopicSight()}
    assert neighbours.complete_sights("elsewhere") == {}


def test_policies_are_found_by_the_pulsar_namespace_they_name() -> None:
    neighbours, elsewhere = Neighbours(), Key(POLICIES, "elsewhere", "orders")
    key = PulsarNamespaceKey("pulsar", "shop", "orders")
    neighbours.saw_policy(ORDERS, key)
    neighbours.saw_policy(elsewhere, key)
    assert neighbours.policies_naming("shop/orders") == {ORDERS, elsewhere}
    assert neighbours.policies_naming("shop/orders", "shop") == {ORDERS}
    assert neighbours.policies_naming("shop/returns") == set()
    assert neighbours.lost_policy(ORDERS) == key
    assert neighbours.policies_naming("shop/orders") == {elsewhere}


def test_an_edit_goes_ahead_of_topics_that_a_list_tells_of_and_so_does_every_policy(ears: Ears) -> None:
    for key in (CREATED, ORDERS):
        ears.tell(key, is_listed=True)
    assert ears.ahead() == {ORDERS}
    for key in (CREATED, ORDERS):
        ears.tell(key, "2")
    assert ears.ahead() == {CREATED, ORDERS}


def test_topics_whose_policy_changed_come_after_what_was_edited(ears: Ears) -> None:
    ears.tell(CREATED)
    ears.tell(ORDERS, generation=1)
    ears.rung()
    ears.tell(ORDERS, "2", generation=2)
    assert ears.ahead() == {ORDERS}


def test_a_pod_rings_the_topic_that_its_label_names_ahead_of_others_if_there_is_one(ears: Ears) -> None:
    ears.hear(CREATED)
    ears.tell(POD, labels={TOPIC_LABEL: "created"})
    assert ears.ahead() == {CREATED}
    assert ears.hear(POD, "2", labels={TOPIC_LABEL: "created"}, is_deleted=True) == {CREATED}
    assert ears.hear(POD, labels={TOPIC_LABEL: "nobody's"}) == set()
    assert ears.hear(Key("pods", "elsewhere", "made-up"), labels={TOPIC_LABEL: "created"}) == set()
    assert ears.hear(POD) == set()


def test_nothing_is_kept_of_what_is_gone(ears: Ears) -> None:
    for key in (ORDERS, CREATED, Key(NAMESPACES, "", "shop")):
        ears.tell(key, uid="1", annotations={ANNOTATION: "shop/*"})
        ears.tell(key, "2", uid="1", is_deleted=True)
    for key in (ORDERS, CREATED):
        ears.tell(key, "3", uid="2")
        ears.list(key.plural)
    assert (ears.bell._generations, ears.bell._annotations, ears.bell._hashes) == ({}, {}, {})
