"""The objects of the store: they decode to what was encoded, fit into etcd, and are refused if they are damaged."""

import base64
import copy
import json
import zlib
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicschema.api import crds
from topicschema.api.store import (
    HISTORY_LABEL,
    PULSAR_NAMESPACE_LABEL,
    ClaimContent,
    claim_from_wire,
    claim_name,
    claim_to_wire,
    history_from_wire,
    history_name,
    history_to_wire,
    version_from_wire,
    version_name,
    version_to_wire,
)
from topicschema.core.errors import StalledError
from topicschema.core.history import (
    MAX_VERSIONS,
    DeletedVersions,
    Flaw,
    History,
    NumberedBy,
    Origin,
    Owner,
    StoredTopicSettings,
    VersionEntry,
    source_mark,
)
from topicschema.core.remote import TopicSettings
from topicschema.core.schemas import AVRO_TEXTS, PulsarVersion, SchemaInfo, SchemaType, digest
from topicschema.core.strategies import Strategy
from topicschema.core.topics import PulsarNamespaceKey, Topic, TopicKey

KEY = TopicKey("pulsar", Topic("shop", "orders", "created"))
OWNER = Owner("shop", "orders-created", "6f1c")
INFO = SchemaInfo(SchemaType.AVRO, '{"type":"string","doc":"für <&>"}'.encode(), {"owner": "team-a"})


def stored(obj: dict[str, Any]) -> str:
    """Return the object as etcd stores it: compact JSON with Go's escapes."""
    text = json.dumps(obj, separators=(",", ":"), ensure_ascii=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def entry(number: int, **changes: Any) -> VersionEntry:
    """Return a version with its own hashes."""
    values = {
        "schema_version": number,
        "type": SchemaType.AVRO,
        "fingerprint": digest(f"fingerprint {number}".encode()),
        "content_hash": digest(f"content {number}".encode()),
        "origin": Origin.SPEC,
        "registered_at": "2026-11-21T05:30:09Z",
    }
    return VersionEntry(**values | changes)


HISTORY = History(
    KEY,
    OWNER,
    1,
    (
        entry(0),
        entry(1, type=SchemaType.LOCAL_DATE_TIME, origin=Origin.BROKER, is_tombstone=True),
        entry(2, origin=Origin.REGISTRY, registered_at="1999-12-31T23:59:59Z"),
        entry(3, type=SchemaType.PROTOBUF_NATIVE, source_mark=source_mark(digest(b"sources"))),
        entry(4, pulsar_version=PulsarVersion.V4_1),
        entry(5, origin=Origin.BROKER, flaw=Flaw.UNPARSABLE),
        entry(6, origin=Origin.BROKER, flaw=Flaw.INVALID_DEFAULT, pulsar_version=PulsarVersion.V4_2),
    ),
    NumberedBy.BROKER,
    StoredTopicSettings(TopicSettings(Strategy.FULL), TopicSettings(Strategy.BACKWARD, enforces_validation=False)),
)


def newest(number: int) -> History:
    return History(KEY, entries=(entry(number),))


DELETED = (DeletedVersions(0, (entry(0), entry(2))), DeletedVersions(1, (entry(0),)))


@pytest.mark.parametrize("history", [HISTORY, History(KEY), replace(HISTORY, incarnation=2, deleted=DELETED)])
def test_a_history_reads_as_it_was_written(history: History) -> None:
    wire = json.loads(json.dumps(history_to_wire(history, namespace="topicschema-system", resource_version="7")))
    assert history_from_wire(wire) == history
    assert wire["metadata"]["name"] == history_name(KEY)
    assert wire["metadata"]["resourceVersion"] == "7"
    assert wire["metadata"]["labels"] == {
        PULSAR_NAMESPACE_LABEL: claim_name(PulsarNamespaceKey("pulsar", "shop", "orders"))
    }


def test_every_kind_of_version_takes_at_most_140_stored_bytes() -> None:
    widest = [entry(9_999, type=SchemaType.PROTOBUF_NATIVE, source_mark=source_mark(digest(b"")))]
    for kind, origin, flaw in product(SchemaType, Origin, Flaw):
        pulsar_version = (
            PulsarVersion.V4_2 if kind in AVRO_TEXTS else PulsarVersion.V4_0
        )  # that of other types is not stored
        flags = {"flaw": flaw, "is_tombstone": flaw is Flaw.NONE}
        widest.append(entry(99_999_999, type=kind, origin=origin, pulsar_version=pulsar_version, **flags))
    for each in widest:
        wire = history_to_wire(History(KEY, entries=(each,)), namespace="a", resource_version=None)
        assert len(stored(wire["spec"]["versions"][0]).encode()) + len(",") <= 140


def test_a_version_has_the_full_hash_of_its_sources() -> None:
    wire = version_to_wire(newest(0), INFO, digest(b"sources"), namespace="a")
    assert wire["spec"]["sourceHash"] == digest(b"sources")
    assert version_from_wire(wire) == INFO
    assert "sourceHash" not in version_to_wire(newest(0), INFO, namespace="a")["spec"]


@given(
    st.lists(st.integers(0, 10**9 - 1), unique=True, max_size=5).map(sorted),
    st.sampled_from([{}, {"is_tombstone": True}, *({"flaw": flaw} for flaw in Flaw)]),
    st.sampled_from(PulsarVersion),
    st.sampled_from(["", source_mark(digest(b"sources"))]),
    st.sampled_from(NumberedBy),
)
def test_any_versions_read_as_they_were_written(
    numbers: list[int], flags: dict[str, Any], pulsar_version: PulsarVersion, mark: str, numbered_by: NumberedBy
) -> None:
    entries = tuple(entry(number, pulsar_version=pulsar_version, source_mark=mark, **flags) for number in numbers)
    history = History(KEY, None, 0, entries, numbered_by)
    wire = json.loads(json.dumps(history_to_wire(history, namespace="a", resource_version=None)))
    assert history_from_wire(wire) == history


def test_as_many_of_the_longest_versions_as_the_crd_takes_fit_into_one_object_of_etcd() -> None:
    crd = crds.documents()["topicschema.io_schemahistories.yaml"]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    members = crd["properties"]["spec"]["properties"]
    lines = members["versions"]
    assert lines["maxItems"] == MAX_VERSIONS
    wire = history_to_wire(HISTORY, namespace="topicschema-system", resource_version="123456789")
    wire["spec"]["versions"] = ["x" * lines["items"]["maxLength"]] * lines["maxItems"]
    escaped_names = 6 * sum(member.get("maxLength", 0) for member in members.values())
    added_by_the_server = 4096
    assert len(stored(wire).encode()) + escaped_names + added_by_the_server < 1_500_000


def test_a_time_in_another_form_is_a_bug_of_the_caller() -> None:
    history = History(KEY, entries=(entry(0, registered_at="2026-11-21T05:30:09.123+00:00"),))
    with pytest.raises(ValueError, match="cannot be stored"):
        history_to_wire(history, namespace="a", resource_version=None)


def test_a_version_reads_as_it_was_written() -> None:
    wire = json.loads(json.dumps(version_to_wire(newest(12), INFO, namespace="topicschema-system")))
    assert version_from_wire(wire) == INFO
    name = f"{history_name(KEY)}-0-12-{INFO.content_hash[7:19]}"
    assert wire["metadata"] == {
        "name": name,
        "namespace": "topicschema-system",
        "labels": {HISTORY_LABEL: history_name(KEY)},
    }
    assert version_name(KEY, 0, 12, INFO.content_hash) == name


@given(st.binary(max_size=2000), st.dictionaries(st.text(max_size=10), st.text(max_size=10), max_size=3))
def test_any_bytes_and_properties_come_back(content: bytes, properties: dict[str, str]) -> None:
    info = SchemaInfo(SchemaType.JSON, content, properties)
    assert version_from_wire(version_to_wire(newest(0), info, namespace="a")) == info


def test_a_large_schema_is_stored_compressed_and_one_without_end_is_refused() -> None:
    large = SchemaInfo(SchemaType.AVRO, b'{"type":"record","name":"aaaaaaaaaa"}' * 10_000)
    assert len(stored(version_to_wire(newest(0), large, namespace="a"))) < 10_000
    with pytest.raises(StalledError) as caught:
        version_to_wire(newest(0), SchemaInfo(SchemaType.AVRO, bytes(9_000_000)), namespace="a")
    assert caught.value.reason == "SchemaTooLarge"


@pytest.mark.parametrize("owner", [OWNER, None])
def test_a_claim_reads_as_it_was_written(owner: Owner | None) -> None:
    key = PulsarNamespaceKey("pulsar", "shop", "orders")
    wire = json.loads(
        json.dumps(claim_to_wire(key, ClaimContent(owner), namespace="topicschema-system", resource_version=None))
    )
    assert claim_from_wire(wire) == ClaimContent(owner)
    assert wire["metadata"] == {"name": claim_name(key), "namespace": "topicschema-system"}


def payload(content: bytes) -> str:
    return base64.b64encode(zlib.compress(content)).decode()


CLAIM = claim_to_wire(
    PulsarNamespaceKey("pulsar", "shop", "orders"), ClaimContent(OWNER), namespace="a", resource_version="1"
)
OBJECTS: dict[str, tuple[Callable[[object], object], dict[str, Any]]] = {
    "history": (history_from_wire, history_to_wire(HISTORY, namespace="a", resource_version="1")),
    "version": (version_from_wire, version_to_wire(newest(1), INFO, namespace="a")),
    "claim": (claim_from_wire, CLAIM),
}
LINES = OBJECTS["history"][1]["spec"]["versions"]
DAMAGE = {
    "a history of another topic": ("history", "localName", "deleted"),
    "a history of another cluster": ("history", "registry", "other"),
    "a history whose Pulsar namespace is none": ("history", "pulsarNamespace", "shop/orders/more"),
    "a history in a format to come": ("history", "format", 2),
    "a history without its versions": ("history", "versions", None),
    "versions out of order": ("history", "versions", LINES[::-1]),
    "a version twice": ("history", "versions", [LINES[0], LINES[0]]),
    "a line cut short": ("history", "versions", [LINES[0][:-1]]),
    "a line with a flag to come": ("history", "versions", [LINES[0] + " X"]),
    "a line with two flags": ("history", "versions", [LINES[0] + " T D"]),
    "an unknown registry": ("history", "numberedBy", "Kafka"),
    "settings of a topic that are a list": ("history", "topicSettings", []),
    "settings of a topic before nothing": ("history", "topicSettings", {"written": {}}),
    "a strategy to come": ("claim", "original", {"schemaCompatibilityStrategy": "SOMETIMES"}),
    "a setting to come": ("claim", "managed", ["retention"]),
    "a line with half a hash of sources": ("history", "versions", [LINES[0] + " abcdefgh"]),
    "a line with an unknown type": ("history", "versions", [LINES[0].replace("AVRO", "XML")]),
    "a line that is an object": ("history", "versions", [{"schemaVersion": 0}]),
    "a version of another history": ("version", "history", "h-" + "0" * 40),
    "a version of another number": ("version", "schemaVersion", 2),
    "a version of another incarnation": ("version", "incarnation", 1),
    "other bytes than the hash says": ("version", "payload", payload(INFO.schema + b" ")),
    "a hash that the name does not have": ("version", "contentHash", digest(b"")),
    "a payload that is not base64": ("version", "payload", "für"),
    "a payload that is not compressed": ("version", "payload", "AAAA"),
    "a payload cut short": ("version", "payload", payload(INFO.schema)[:16]),
    "a payload that inflates without end": ("version", "payload", payload(bytes(100_000_000))),
    "an empty payload": ("version", "payload", ""),
    "a version of a type to come": ("version", "type", "XML"),
    "a claim of another Pulsar namespace": ("claim", "pulsarNamespace", "shop/other"),
    "a claim whose owner is a text": ("claim", "owner", "shop/orders"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_object_is_refused(damage: str) -> None:
    name, member, value = DAMAGE[damage]
    read, wire = OBJECTS[name]
    read(wire)
    broken = copy.deepcopy(wire)
    broken["spec"][member] = value
    with pytest.raises(StalledError) as caught:
        read(broken)
    assert caught.value.reason == "HistoryDamaged"
    assert len(caught.value.message) < 600


@pytest.mark.parametrize("name", OBJECTS)
def test_an_object_under_another_name_is_refused(name: str) -> None:
    read, wire = OBJECTS[name]
    with pytest.raises(StalledError, match="its name does not belong to its contents"):
        read(wire | {"metadata": wire["metadata"] | {"name": "other"}})


@pytest.mark.parametrize("name", OBJECTS)
@pytest.mark.parametrize("wire", [None, [], {}, {"metadata": {"name": "a"}}, {"metadata": 1, "spec": {"format": 1}}])
def test_other_json_is_refused(name: str, wire: Any) -> None:
    with pytest.raises(StalledError) as caught:
        OBJECTS[name][0](wire)
    assert caught.value.reason == "HistoryDamaged"
