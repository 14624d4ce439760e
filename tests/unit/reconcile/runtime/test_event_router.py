from contextlib import suppress
from typing import Any

import pytest

from topicschema.core.topics import PulsarNamespaceKey
from topicschema.reconcile.runtime.event_router import EventRouter, history_key
from topicschema.reconcile.runtime.object_index import ObjectIndex, TopicSummary
from topicschema.reconcile.runtime.own_writes import OwnWrites
from topicschema.reconcile.runtime.work_queue import Key
from topicschema.validation.job.manifest import TOPIC_LABEL

TOPICS, POLICIES = "topicschemas", "namespaceschemapolicies"
HISTORIES, NAMESPACES = "schemahistories", "namespaces"
CREATED, CHANGED = Key(TOPICS, "shop", "created"), Key(TOPICS, "shop", "changed")
ORDERS = Key(POLICIES, "shop", "orders")
POD = Key("pods", "shop", "created-check-1")
ANNOTATION = "topicschema.io/pulsar-namespaces"


class Handlers:
    """A router with its index, and the keys that it enqueued."""

    def __init__(self) -> None:
        self.index, self.own_writes = ObjectIndex(), OwnWrites()
        self._enqueued: dict[Key, float] = {}
        self.router = EventRouter(self.index, self.own_writes, self._enqueued.__setitem__)

    def event(self, key: Key, revision: str = "1", *, is_deleted: bool = False, **metadata: Any) -> set[Key]:
        """Return the keys that this event enqueues."""
        self.send(key, revision, is_deleted=is_deleted, **metadata)
        return self.enqueued()

    def send(self, key: Key, revision: str = "1", *, is_listed: bool = False, **told: Any) -> None:
        """Send the router this event."""
        is_deleted = told.pop("is_deleted", False)
        metadata = {"namespace": key.namespace, "name": key.name, "resourceVersion": revision, **told}
        self.router.on_event(key.plural, metadata, is_deleted=is_deleted, is_listed=is_listed)

    def list(self, plural: str, *keys: Key) -> set[Key]:
        """Return the keys that this list enqueues."""
        self.router.on_list(plural, [{"namespace": key.namespace, "name": key.name} for key in keys])
        return self.enqueued()

    def enqueued(self) -> set[Key]:
        enqueued = set(self._enqueued)
        self._enqueued.clear()
        return enqueued

    def ahead(self) -> set[Key]:
        """Return the keys that were enqueued ahead of others."""
        ahead = {key for key, after in self._enqueued.items() if after < 0}
        self._enqueued.clear()
        return ahead


@pytest.fixture
def handlers() -> Handlers:
    return Handlers()


@pytest.mark.parametrize("key", [CREATED, ORDERS])
def test_what_exists_changes_or_is_deleted_is_enqueued(handlers: Handlers, key: Key) -> None:
    assert handlers.event(key) == {key}
    assert handlers.event(key, "2") == {key}
    assert handlers.event(key, "3", is_deleted=True) == {key}


def test_an_edit_of_labels_and_annotations_alone_of_a_ready_topic_enqueues_nothing(handlers: Handlers) -> None:
    handlers.event(CREATED, generation=1)
    handlers.index.update_topic(CREATED, TopicSummary(is_ready=True))
    edited: dict[str, Any] = {
        "labels": {"a": "b"},
        "annotations": {"note": "c"},
        "managedFields": [{"manager": "kubectl"}],
    }
    assert handlers.event(CREATED, "2", generation=1, **edited) == set()
    assert handlers.event(CREATED, "3", generation=1, is_listed=True) == set()


@pytest.mark.parametrize(
    "edited",
    [
        {"generation": 2},
        {"deletionTimestamp": "2026-01-01T00:00:00Z"},
        {"finalizers": ["theirs"], "uid": "another"},
        {"annotations": {"topicschema.io/skip-broker-delete": "true"}},
        {"labels": {"topicschema.io/any": "b"}},
        {"managedFields": [{"manager": "kubectl", "subresource": "status"}]},
    ],
)
def test_any_other_edit_of_a_ready_topic_enqueues_it_once(handlers: Handlers, edited: dict[str, Any]) -> None:
    handlers.event(CREATED, generation=1)
    handlers.index.update_topic(CREATED, TopicSummary(is_ready=True))
    for revision, enqueued in (("2", {CREATED}), ("3", set())):
        assert handlers.event(CREATED, revision, **{"generation": 1, **edited}) == enqueued


def test_a_label_has_a_topic_that_is_not_ready_reconciled(handlers: Handlers) -> None:
    handlers.event(CREATED, generation=1)
    handlers.index.update_topic(CREATED, TopicSummary(is_ready=False))
    assert handlers.event(CREATED, "2", generation=1, labels={"a": "b"}) == {CREATED}


def test_a_policy_heard_of_before_its_namespace_is_enqueued_as_its_leave_may_have_changed(handlers: Handlers) -> None:
    handlers.event(ORDERS)
    assert handlers.event(Key(NAMESPACES, "", "shop"), annotations={ANNOTATION: "a/*"}) == {ORDERS}


def test_two_topics_may_write_one_record_at_once_and_both_hear_of_what_is_not_their_own_write(
    handlers: Handlers,
) -> None:
    record, enqueued = history_key("h-1"), []
    with handlers.own_writes.suppress(record, lambda: enqueued.append("first")):
        with handlers.own_writes.suppress(record, lambda: enqueued.append("second")):
            assert handlers.event(record, "7") == set()
            handlers.own_writes.record(record, "7")
        assert handlers.event(record, "8") == set()
    assert enqueued == ["first"]


def test_a_write_that_outlasts_another_of_the_same_record_still_holds_its_event_back(handlers: Handlers) -> None:
    record, enqueued = history_key("h-1"), []
    first = handlers.own_writes.suppress(record, lambda: enqueued.append("first"))
    second = handlers.own_writes.suppress(record, lambda: enqueued.append("second"))
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert handlers.event(record, "8") == set()
    second.__exit__(None, None, None)
    assert enqueued == ["second"]


def test_the_event_of_our_own_write_enqueues_nothing_but_a_later_change_does(handlers: Handlers) -> None:
    handlers.own_writes.record(CREATED, "7")
    assert handlers.event(CREATED, "7") == set()
    assert handlers.event(CREATED, "7", is_deleted=True) == {CREATED}
    assert handlers.event(CREATED, "8") == {CREATED}


def test_an_event_that_comes_before_the_answer_to_its_write_is_an_echo_too(handlers: Handlers) -> None:
    enqueued = []
    with handlers.own_writes.suppress(CREATED, lambda: enqueued.append(CREATED)):
        assert handlers.event(CREATED, "7") == set()
        handlers.own_writes.record(CREATED, "7")
    assert enqueued == []


def test_somebody_elses_change_during_our_write_is_enqueued_after_it(handlers: Handlers) -> None:
    enqueued = []
    with handlers.own_writes.suppress(CREATED, lambda: enqueued.append(CREATED)):
        assert handlers.event(CREATED, "6") == set()
        assert handlers.event(CREATED, "7") == set()
        handlers.own_writes.record(CREATED, "7")
    assert enqueued == [CREATED]


def test_a_change_during_a_write_that_fails_is_enqueued(handlers: Handlers) -> None:
    enqueued = []
    with suppress(ZeroDivisionError), handlers.own_writes.suppress(CREATED, lambda: enqueued.append(CREATED)):
        handlers.event(CREATED, "7")
        raise ZeroDivisionError
    assert enqueued == [CREATED]


def test_what_was_deleted_while_nobody_listened_is_enqueued_after_the_next_list(handlers: Handlers) -> None:
    handlers.event(CREATED)
    handlers.event(CHANGED)
    assert handlers.list(TOPICS, CREATED) == {CHANGED}


def test_a_list_that_names_what_is_known_enqueues_nothing(handlers: Handlers) -> None:
    handlers.event(CREATED)
    assert handlers.list(TOPICS, CREATED, CHANGED) == set()
    assert handlers.list(NAMESPACES, Key(NAMESPACES, "", "shop")) == set()


def test_the_first_list_of_topics_lets_policies_count(handlers: Handlers) -> None:
    handlers.event(ORDERS)
    assert handlers.list(TOPICS, CREATED) == {ORDERS}
    assert handlers.list(TOPICS, CREATED) == set()


def test_a_changed_policy_enqueues_the_topics_of_its_pulsar_namespace_and_those_that_no_pass_has_reached(
    handlers: Handlers,
) -> None:
    elsewhere, of_another = Key(TOPICS, "elsewhere", "created"), Key(TOPICS, "shop", "of-another")
    for topic in (CREATED, CHANGED, elsewhere, of_another):
        handlers.event(topic)
    for topic, pulsar_namespace in ((CREATED, "shop/orders"), (elsewhere, "shop/orders"), (of_another, "shop/returns")):
        handlers.index.update_topic(topic, TopicSummary(f"{pulsar_namespace}/created", pulsar_namespace))
    assert handlers.event(ORDERS, "1", uid="u", generation=1) == {ORDERS}
    assert handlers.index.update_policy(ORDERS, PulsarNamespaceKey("pulsar", "shop", "orders"))
    assert not handlers.index.update_policy(ORDERS, PulsarNamespaceKey("pulsar", "shop", "orders"))
    assert handlers.event(ORDERS, "2", uid="u", generation=1) == {ORDERS}
    assert handlers.event(ORDERS, "3", uid="u", generation=2) == {ORDERS, CREATED, CHANGED}
    assert handlers.event(ORDERS, "4", uid="another", generation=2) == {ORDERS, CREATED, CHANGED}


def test_a_changed_annotation_of_a_namespace_enqueues_its_policies(handlers: Handlers) -> None:
    shop, elsewhere = Key(NAMESPACES, "", "shop"), Key(POLICIES, "elsewhere", "orders")
    handlers.event(ORDERS)
    handlers.event(elsewhere)
    assert handlers.event(shop) == {ORDERS}
    assert handlers.event(shop, "2", labels={"a": "b"}) == set()
    assert handlers.event(shop, "3", annotations={ANNOTATION: "shop/*"}) == {ORDERS}
    assert handlers.event(shop, "4", annotations={ANNOTATION: "shop/*", "more": "x"}) == set()
    assert handlers.event(shop, "5", annotations=None) == {ORDERS}


def test_a_record_that_somebody_else_touched_enqueues_its_topics(handlers: Handlers) -> None:
    handlers.index.update_topic(CREATED, TopicSummary("shop/orders/created", "shop/orders", "h-1"))
    handlers.own_writes.record(history_key("h-1"), "5")
    record = Key(HISTORIES, "topicschema-system", "h-1")
    assert handlers.event(record, "5") == set()
    assert handlers.event(record, "6") == {CREATED}
    assert handlers.event(record, "6", is_deleted=True) == {CREATED}
    assert handlers.event(Key(HISTORIES, "topicschema-system", "h-2"), "1") == set()


def test_a_record_deleted_while_nobody_listened_enqueues_its_topics(handlers: Handlers) -> None:
    handlers.index.update_topic(CREATED, TopicSummary("shop/orders/created", "shop/orders", "h-1"))
    handlers.index.update_topic(CHANGED, TopicSummary("shop/orders/changed", "shop/orders", "h-2"))
    handlers.own_writes.record(history_key("h-1"), "5")
    handlers.own_writes.record(history_key("h-2"), "")
    assert handlers.list(HISTORIES, Key(HISTORIES, "topicschema-system", "h-1")) == set()
    assert handlers.list(HISTORIES) == {CREATED}


def test_topics_that_share_a_topic_know_each_other_until_one_is_gone() -> None:
    index = ObjectIndex()
    summary = TopicSummary("shop/orders/created", "shop/orders")
    assert index.update_topic(CREATED, summary)
    assert not index.update_topic(CREATED, summary)
    index.update_topic(CHANGED, summary)
    assert index.topics_sharing(summary) == {CREATED, CHANGED}
    assert index.remove_topic(CREATED) == summary
    assert index.topics_sharing(summary) == {CHANGED}


def test_topics_are_counted_only_when_every_one_of_them_was_seen() -> None:
    index = ObjectIndex()
    index.known[TOPICS] |= {CREATED, CHANGED}
    index.update_topic(CREATED, TopicSummary())
    assert index.all_summaries("shop") is None
    index.update_topic(CHANGED, TopicSummary())
    assert index.all_summaries("shop") is None
    index.are_topics_listed = True
    assert index.all_summaries("shop") == {CREATED: TopicSummary(), CHANGED: TopicSummary()}
    assert index.all_summaries("elsewhere") == {}


def test_policies_are_found_by_the_pulsar_namespace_they_name() -> None:
    index, elsewhere = ObjectIndex(), Key(POLICIES, "elsewhere", "orders")
    key = PulsarNamespaceKey("pulsar", "shop", "orders")
    index.update_policy(ORDERS, key)
    index.update_policy(elsewhere, key)
    assert index.policies_of_pulsar_namespace("shop/orders") == {ORDERS, elsewhere}
    assert index.policies_of_pulsar_namespace("shop/orders", "shop") == {ORDERS}
    assert index.policies_of_pulsar_namespace("shop/returns") == set()
    assert index.remove_policy(ORDERS) == key
    assert index.policies_of_pulsar_namespace("shop/orders") == {elsewhere}


def test_an_edit_goes_ahead_of_topics_that_a_list_tells_of_and_so_does_every_policy(handlers: Handlers) -> None:
    for key in (CREATED, ORDERS):
        handlers.send(key, is_listed=True)
    assert handlers.ahead() == {ORDERS}
    for key in (CREATED, ORDERS):
        handlers.send(key, "2")
    assert handlers.ahead() == {CREATED, ORDERS}


def test_topics_whose_policy_changed_come_after_what_was_edited(handlers: Handlers) -> None:
    handlers.send(CREATED)
    handlers.send(ORDERS, generation=1)
    handlers.enqueued()
    handlers.send(ORDERS, "2", generation=2)
    assert handlers.ahead() == {ORDERS}


def test_a_pod_enqueues_the_topic_that_its_label_names_ahead_of_others_if_there_is_one(handlers: Handlers) -> None:
    handlers.event(CREATED)
    handlers.send(POD, labels={TOPIC_LABEL: "created"})
    assert handlers.ahead() == {CREATED}
    assert handlers.event(POD, "2", labels={TOPIC_LABEL: "created"}, is_deleted=True) == {CREATED}
    assert handlers.event(POD, labels={TOPIC_LABEL: "nobody's"}) == set()
    assert handlers.event(Key("pods", "elsewhere", "made-up"), labels={TOPIC_LABEL: "created"}) == set()
    assert handlers.event(POD) == set()


def test_nothing_is_kept_of_what_is_gone(handlers: Handlers) -> None:
    for key in (ORDERS, CREATED, Key(NAMESPACES, "", "shop")):
        handlers.send(key, uid="1", annotations={ANNOTATION: "shop/*"})
        handlers.send(key, "2", uid="1", is_deleted=True)
    for key in (ORDERS, CREATED):
        handlers.send(key, "3", uid="2")
        handlers.list(key.plural)
    assert (handlers.router._generations, handlers.router._annotations, handlers.router._hashes) == ({}, {}, {})
