"""Events on a real API server: counted if repeated, cut to the accepted length, and never an obstacle."""

import pytest

from support.metrics import counted
from testbed.cluster import Cluster
from topicschema.api.kinds import EVENT
from topicschema.cluster.client import ApiClient, Objects
from topicschema.cluster.events import EventRecorder


@pytest.fixture
def regarding(namespace: str) -> dict[str, str]:
    return {
        "apiVersion": "topicschema.io/v1alpha1",
        "kind": "TopicSchema",
        "namespace": namespace,
        "name": "orders-created",
        "uid": "7d1f6bd4-0d0f-4dd0-9d0e-6b1b3a9d5c11",
    }


async def events(client: ApiClient, namespace: str) -> Objects:
    listed = await client.list(EVENT, namespace)
    return [event for event in listed if event["regarding"]["kind"] == "TopicSchema"]


async def test_a_repeated_event_is_counted(
    client: ApiClient, cluster: Cluster, regarding: dict[str, str], namespace: str
) -> None:
    for instance in ("controller-1", "controller-1", "controller-2"):
        recorder = EventRecorder(client, instance)
        await recorder.record(regarding, "Warning", "Incompatible", "READER_FIELD_MISSING at $.fields[2]", "Judge")
    (event,) = await events(client, namespace)
    assert event["series"]["count"] == 3
    assert event["type"] == "Warning"
    assert event["regarding"] == regarding
    shown = cluster.kubectl("get", "events", "-n", namespace)
    assert "READER_FIELD_MISSING at $.fields[2]" in shown


NOTES = {
    "1024 bytes": ("x" * 1024, "x" * 1024),
    "1025": ("x" * 1025, "x" * 1021 + "…"),
    "two bytes each": ("é" * 1024, "é" * 510 + "…"),
    "four bytes each": ("🦀" * 256, "🦀" * 256),
    "four bytes each, too long": ("🦀" * 257, "🦀" * 255 + "…"),
    "control": ("a\nb\x00c", "a\nb\x00c"),
    "surrogate": ("a lone \ud800", "a lone \ufffd"),
}


@pytest.mark.parametrize(("note", "shown"), NOTES.values(), ids=NOTES)
async def test_a_note_is_cut_to_the_bytes_that_the_api_server_takes(
    client: ApiClient, regarding: dict[str, str], namespace: str, note: str, shown: str
) -> None:
    await EventRecorder(client, "controller").record(regarding, "Normal", "Registered", note, "Register")
    (event,) = await events(client, namespace)
    assert event["note"] == shown


async def test_an_event_that_cannot_be_written_is_counted_and_raises_no_error(
    client: ApiClient, regarding: dict[str, str]
) -> None:
    lost = counted("event_write_failures_total")
    nowhere = {**regarding, "namespace": "not-there"}
    await EventRecorder(client, "controller").record(nowhere, "Normal", "Registered", "version 0", "Register")
    await EventRecorder(client, "controller").record(regarding, "Neither", "Registered", "version 0", "Register")
    assert counted("event_write_failures_total") == lost + 2
