"""The end of versions at a real broker, also by other clients, and what stays of them."""

import pytest
from pulsar import Client
from pulsar.schema import StringSchema

from support.pulsar.rest_topic import RestTopic, optional, record
from testbed.pulsar import PULSAR_VERSION

_FIRST = record(optional("a"))
_SECOND = record(optional("a"), optional("b"))
_OTHER = record('{"name": "z", "type": "string"}')


def test_numbers_go_on_after_a_tombstone_and_nothing_before_it_is_judged(topic: RestTopic) -> None:
    topic.upload_version(_FIRST)
    topic.delete()

    assert topic.upload_version(_OTHER) == 2  # incompatible with what was before

    assert topic.versions() == [2]
    assert topic.read(0).status == 404
    assert topic.upload(_FIRST).status == 409  # and not deduped


def test_deleting_again_and_deleting_nothing_write_tombstones_too(topic: RestTopic) -> None:
    assert topic.delete() == 0
    assert topic.delete() == 1

    assert topic.upload_version(_FIRST) == 2


def test_a_forced_delete_starts_again_from_zero(topic: RestTopic) -> None:
    topic.upload_version(_FIRST)
    topic.upload_version(_SECOND)

    assert topic.delete(force=True) == -1

    assert topic.index() is None
    assert topic.upload_version(_OTHER) == 0


@pytest.mark.parametrize(("force", "next_version"), [(False, 2), (True, 0)])
def test_a_producer_that_connects_again_after_a_deletion_registers_its_schema_again(
    topic: RestTopic, *, force: bool, next_version: int
) -> None:
    client = Client(topic.pulsar.service_url)
    try:
        producer = client.create_producer(f"persistent://{topic.namespace}/x", schema=StringSchema())
        assert topic.versions() == [0]
        topic.delete(force=force)
        assert topic.versions() == []

        topic.pulsar.call("PUT", f"{topic.itself}/unload")  # its connection to the topic ends, and it makes another
        producer.send("a message")

        assert topic.versions() == [next_version]
    finally:
        client.close()


def test_deleting_the_topic_removes_its_versions(topic: RestTopic) -> None:
    topic.pulsar.call("PUT", topic.itself)
    topic.upload_version(_FIRST)

    topic.pulsar.call("DELETE", f"{topic.itself}?deleteSchema=false")

    assert topic.index() is None


def test_deleting_a_topic_that_is_not_there_is_404_and_removes_its_versions(topic: RestTopic) -> None:
    topic.upload_version(_FIRST)

    assert topic.pulsar.request("DELETE", topic.itself).status == 404

    assert topic.index() is None


def test_schemas_outlive_their_namespace_and_come_back_with_it(topic: RestTopic) -> None:
    topic.upload_version(_FIRST)
    topic.pulsar.call("DELETE", f"/namespaces/{topic.namespace}")

    assert topic.read().json["data"] == _FIRST
    assert topic.upload(_SECOND).json == {"reason": "Namespace does not exist"}

    topic.pulsar.call("PUT", f"/namespaces/{topic.namespace}")
    assert topic.upload(_OTHER).status == 409
    assert topic.upload_version(_SECOND) == 1


def test_deleting_needs_the_tenant_only(topic: RestTopic) -> None:
    missing = RestTopic(topic.pulsar, f"{topic.namespace}-missing")
    no_tenant = RestTopic(topic.pulsar, "no-tenant/n")

    assert missing.delete() == 0
    assert missing.index() == [0]  # a tombstone where there is no namespace
    answer = topic.pulsar.request("DELETE", f"{no_tenant.schemas}/schema")
    assert (answer.status, answer.json) == (404, {"reason": "Tenant does not exist"})


def test_deleting_a_partitioned_topic_removes_its_versions(topic: RestTopic) -> None:
    topic.pulsar.call("PUT", f"{topic.itself}/partitions", 2)
    topic.upload_version(_FIRST)

    topic.pulsar.call("DELETE", f"{topic.itself}/partitions")

    assert topic.index() is None


def test_a_scalable_topic_has_one_history_which_goes_with_any_of_its_segments(topic: RestTopic) -> None:
    """Check why `spec.topic` accepts no topic:// name: the broker removes a split segment once its messages expired."""
    path = f"/scalable/{topic.namespace}/{topic.name}"
    created = topic.pulsar.request("PUT", f"{path}?numInitialSegments=2")
    if PULSAR_VERSION in ("4.0", "4.1", "4.2"):
        assert created.status == 404
        return
    assert created.status == 204
    assert [topic.upload_version(_FIRST), topic.upload_version(_SECOND)] == [0, 1]
    topic.pulsar.call("POST", f"{path}/split/0")
    assert topic.index() == [0, 1]
    settings = topic.pulsar.request("GET", f"{topic.itself}/schemaCompatibilityStrategy")
    assert (settings.status, "not found" in settings.text) == (404, True)

    topic.pulsar.call("DELETE", f"/segments/{topic.namespace}/{topic.name}/0000-7fff-0")

    assert topic.index() is None
    assert topic.upload_version(_SECOND) == 0
