from contextlib import suppress
from typing import Any

import pytest

from topicschema.core.topics import PulsarNamespaceKey, Topic, TopicKey
from topicschema.reconcile.runtime.event_router import EventRouter
from topicschema.reconcile.runtime.object_index import ObjectIndex, TopicSummary
from topicschema.reconcile.runtime.own_writes import OwnWrites
from topicschema.reconcile.runtime.work_queue import Key
from topicschema.validation.job.manifest import OWNER_ANNOTATION

TOPICS, POLICIES = "topicschemas", "namespaceschemapolicies"
REGISTRIES, NAMESPACES = "schemaregistries", "namespaces"
CREATED, CHANGED = Key(TOPICS, "shop", "created"), Key(TOPICS, "shop", "changed")
ORDERS = Key(POLICIES, "shop", "orders")
PROD = Key(REGISTRIES, "", "prod")
POD = Key("pods", "topicschema-validation", "created-check-1")
OWNED = {OWNER_ANNOTATION: "shop/created"}


class Handlers:
    """A router with its index, and the keys that it enqueued."""

    def __init__(self) -> None:
        self.index, self.own_writes = ObjectIndex(), OwnWrites()
        self._enqueued: dict[Key, float] = {}
        self.forgotten: list[str] = []
        self.router = EventRouter(self.index, self.own_writes, self.forgotten.append, self._enqueued.__setitem__)

    def event(self, key: Key, revision: str = "1", **members: Any) -> set[Key]:
        """Return the keys that this event enqueues."""
        self.send(key, revision, **members)
        return self.enqueued()

    def send(self, key: Key, revision: str = "1", *, is_listed: bool = False, **members: Any) -> None:
        """Send the router this event."""
        is_deleted = members.pop("is_deleted", False)
        metadata = {"namespace": key.namespace, "name": key.name, "resourceVersion": revision, **members}
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


OTHERS = {"labels": {"a": "b"}, "annotations": {"note": "c"}, "managedFields": [{"manager": "kubectl"}]}


@pytest.mark.parametrize(
    ("edited", "is_ready", "is_enqueued"),
    [
        (OTHERS, True, False),
        (OTHERS, False, True),
        ({"generation": 2}, True, True),
        ({"deletionTimestamp": "2026-01-01T00:00:00Z"}, True, True),
        ({"finalizers": ["theirs"], "uid": "another"}, True, True),
        ({"annotations": {"topicschema.io/skip-broker-delete": "true"}}, True, True),
        ({"labels": {"topicschema.io/any": "b"}}, True, True),
        ({"managedFields": [{"manager": "kubectl", "subresource": "status"}]}, True, True),
    ],
)
def test_an_edit_enqueues_a_topic_once_unless_it_is_of_labels_and_annotations_of_a_ready_one(
    handlers: Handlers, edited: dict[str, Any], *, is_ready: bool, is_enqueued: bool
) -> None:
    handlers.event(CREATED, generation=1)
    handlers.index.update_topic(CREATED, TopicSummary(is_ready=is_ready))
    edited = {"generation": 1, **edited}
    assert handlers.event(CREATED, "2", **edited) == ({CREATED} if is_enqueued else set())
    assert not is_ready or handlers.event(CREATED, "3", is_listed=True, **edited) == set()


def test_the_event_of_our_own_write_enqueues_nothing_but_a_later_change_does(handlers: Handlers) -> None:
    handlers.own_writes.record(CREATED, "7")
    assert handlers.event(CREATED, "7") == set()
    assert handlers.event(CREATED, "7", is_deleted=True) == {CREATED}
    assert handlers.event(CREATED, "8") == {CREATED}


@pytest.mark.parametrize(
    ("events", "fails", "enqueues"), [(["7"], False, False), (["6", "7"], False, True), (["7"], True, True)]
)
def test_an_event_during_a_write_is_enqueued_after_it_if_it_is_of_another_revision(
    handlers: Handlers, events: list[str], *, fails: bool, enqueues: bool
) -> None:
    enqueued = []
    with suppress(ZeroDivisionError), handlers.own_writes.suppress(CREATED, lambda: enqueued.append(CREATED)):
        for revision in events:
            assert handlers.event(CREATED, revision) == set()
        if fails:
            raise ZeroDivisionError
        handlers.own_writes.record(CREATED, "7")
    assert enqueued == ([CREATED] if enqueues else [])


def test_a_list_enqueues_what_it_lacks_and_the_first_one_of_topics_all_policies(handlers: Handlers) -> None:
    for key in (ORDERS, CREATED, CHANGED):
        handlers.event(key)
    assert handlers.list(TOPICS, CREATED) == {CHANGED, ORDERS}
    assert handlers.list(TOPICS, CREATED, CHANGED) == set()
    assert handlers.list(NAMESPACES, Key(NAMESPACES, "", "shop")) == set()


def test_a_changed_policy_enqueues_the_topics_of_its_pulsar_namespace_and_those_not_reconciled_yet(
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


def test_a_changed_label_of_a_namespace_enqueues_its_policies(handlers: Handlers) -> None:
    shop, elsewhere = Key(NAMESPACES, "", "shop"), Key(POLICIES, "elsewhere", "orders")
    handlers.event(ORDERS)
    handlers.event(elsewhere)
    assert handlers.event(shop) == {ORDERS}
    assert handlers.event(shop, "2", annotations={"a": "b"}) == set()
    assert handlers.event(shop, "3", labels={"team": "a"}) == {ORDERS}
    assert handlers.event(shop, "4", labels={"team": "a"}, annotations={"more": "x"}) == set()
    assert handlers.event(shop, "5", labels=None) == {ORDERS}


def test_a_changed_registry_enqueues_its_policies_ahead_of_others_and_is_read_again(handlers: Handlers) -> None:
    other, of_other = Key(REGISTRIES, "", "other"), Key(POLICIES, "shop", "of-other")
    for policy, registry in ((ORDERS, "prod"), (of_other, "other")):
        handlers.event(policy)
        handlers.index.update_policy(policy, PulsarNamespaceKey(registry, "shop", "orders"))
    assert handlers.event(other) == {other, of_other}
    assert handlers.event(PROD, uid="1", generation=1) == {PROD, ORDERS}
    assert handlers.event(PROD, "2", uid="1", generation=1, labels={"a": "b"}) == {PROD}
    handlers.send(PROD, "3", uid="1", generation=2)
    assert handlers.ahead() == {PROD, ORDERS}
    handlers.forgotten.clear()
    handlers.own_writes.record(PROD, "4")
    assert handlers.event(PROD, "4", uid="1", generation=2) == set(), "a status of its own"
    assert handlers.event(PROD, "5", uid="1", generation=2, is_deleted=True) == {PROD}
    assert handlers.forgotten == ["prod"] * 2
    handlers.event(PROD, uid="2", generation=1)
    handlers.forgotten.clear()
    assert handlers.list(REGISTRIES, other) == {PROD}, "it was deleted while no watch was open"
    assert handlers.forgotten == ["prod"]


def test_a_changed_secret_enqueues_the_registries_that_need_it(handlers: Handlers) -> None:
    handlers.index.secrets[PROD] = frozenset({"admin", "trust"})
    for name, registries in (("admin", {PROD}), ("trust", {PROD}), ("other", set())):
        handlers.router.on_secret(name)
        assert handlers.enqueued() == registries
    handlers.router.on_secret("admin")
    assert handlers.ahead() == {PROD}
    handlers.index.remove_registry(PROD)
    handlers.router.on_secret("admin")
    assert handlers.enqueued() == set()


def test_a_history_that_another_client_changed_enqueues_its_topics(handlers: Handlers) -> None:
    created, changed = (TopicKey("pulsar", Topic("shop", "orders", name)) for name in ("created", "changed"))
    handlers.index.update_topic(CREATED, TopicSummary(str(created.topic), "shop/orders", created))
    handlers.router.on_history(created)
    assert handlers.enqueued() == {CREATED}
    handlers.router.on_history(changed)
    assert handlers.enqueued() == set()


def test_policies_are_indexed_by_the_pulsar_namespace_that_they_name() -> None:
    index, elsewhere = ObjectIndex(), Key(POLICIES, "elsewhere", "orders")
    key = PulsarNamespaceKey("pulsar", "shop", "orders")
    for policy in (ORDERS, elsewhere):
        index.update_policy(policy, key)
    assert index.policies_of_pulsar_namespace("shop/orders") == {ORDERS, elsewhere}
    assert index.policies_of_pulsar_namespace("shop/orders", "shop") == {ORDERS}
    assert index.policies_of_pulsar_namespace("shop/returns") == set()
    assert index.remove_policy(ORDERS) == key
    assert index.policies_of_pulsar_namespace("shop/orders") == {elsewhere}


def test_an_edit_has_priority_over_listed_topics_and_over_those_of_a_changed_policy(handlers: Handlers) -> None:
    for key in (CREATED, ORDERS):
        handlers.send(key, generation=1, is_listed=True)
    assert handlers.ahead() == {ORDERS}
    for key in (CREATED, ORDERS):
        handlers.send(key, "2", generation=2)
    assert handlers.ahead() == {CREATED, ORDERS}
    handlers.send(ORDERS, "3", generation=3)
    assert handlers.ahead() == {ORDERS}


def test_a_job_or_pod_enqueues_the_topic_that_its_annotation_names_ahead_of_others(handlers: Handlers) -> None:
    handlers.send(POD, annotations=OWNED)
    assert handlers.ahead() == {CREATED}
    assert handlers.event(POD, "2", annotations=OWNED, is_deleted=True) == {CREATED}
    assert not handlers.index.may_have_job(CREATED)
    for text in ("created", "/created", "shop/"):
        assert handlers.event(POD, annotations={OWNER_ANNOTATION: text}) == set()
    assert handlers.event(POD) == set()
    job = Key("jobs", POD.namespace, "created-check-1")
    assert handlers.event(job, annotations=OWNED, is_deleted=True) == {CREATED}
    assert not handlers.index.may_have_job(CREATED)
    assert handlers.event(job, annotations=OWNED, is_listed=True) == {CREATED}
    assert handlers.index.may_have_job(CREATED)


def test_nothing_is_cached_of_a_deleted_object(handlers: Handlers) -> None:
    for key in (ORDERS, CREATED, PROD, Key(NAMESPACES, "", "shop")):
        handlers.send(key, uid="1", labels={"team": "a"})
        handlers.send(key, "2", uid="1", is_deleted=True)
    for key in (ORDERS, CREATED, PROD):
        handlers.send(key, "3", uid="2")
        handlers.list(key.plural)
    assert (handlers.router._generations, handlers.router._labels, handlers.router._hashes) == ({}, {}, {})
