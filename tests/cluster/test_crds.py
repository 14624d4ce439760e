"""The CRDs on a real API server: objects that it accepts, and those that it refuses by itself, with the field."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes import client, config

from cluster.broker_objects import RIGHT_BROKER_EDITS, RIGHT_BROKERS, WRONG_BROKERS
from cluster.conftest import fresh_namespace
from cluster.registry_objects import REGISTRY, RIGHT_REGISTRIES, RIGHT_REGISTRY_EDITS, WRONG_REGISTRIES
from cluster.right_objects import RIGHT, RIGHT_EDITS
from cluster.validation_objects import RIGHT_VALIDATIONS, WRONG_VALIDATIONS
from cluster.wrong_edits import RIGHT_STATUS, WRONG_EDITS, WRONG_STATUS
from cluster.wrong_objects import CLAIM, HISTORY, POLICY, TOPIC, VERSION, WRONG, Json, Row, changed
from support.kubernetes.kstatus import kstatus
from testbed import install
from testbed.cluster import Cluster
from topicschema.api import crds, kinds
from topicschema.api.policies import NamespaceSchemaPolicy
from topicschema.api.registries import SchemaRegistry
from topicschema.api.store import history_from_wire, history_name, history_to_wire
from topicschema.api.topicschemas import TopicSchema
from topicschema.api.wire import decode
from topicschema.core.errors import StalledError
from topicschema.core.history import History, Origin, VersionEntry
from topicschema.core.schemas import SchemaType, digest
from topicschema.core.topics import Topic, TopicKey

EXAMPLES = Path(__file__).parents[2] / "manifests" / "examples"
_KINDS = (
    kinds.TOPIC_SCHEMA,
    kinds.NAMESPACE_SCHEMA_POLICY,
    kinds.SCHEMA_HISTORY,
    kinds.SCHEMA_VERSION,
    kinds.PULSAR_NAMESPACE_CLAIM,
)
_REGISTRIES = ("topicschema.io", "v1alpha1", kinds.SCHEMA_REGISTRY.plural)
PLURALS = {kind.name: kind.plural for kind in _KINDS}
_NOT_CHECKED = "some validation rules were not checked"


def sentences(rows: list[Row]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("row", rows, ids=[f"{row.base['kind']}: {row.sentence}" for row in rows])


@pytest.fixture(scope="module")
def installed(cluster: Cluster) -> Iterator[Cluster]:
    """Install the CRDs alone, without the webhook configuration, which is restored after these tests."""
    install.install_crds(cluster)
    configurations = cluster.get("validatingwebhookconfigurations")["items"]
    ours = [configuration for configuration in configurations if configuration["metadata"]["name"] == "topicschema"]
    install.remove_webhooks(cluster)
    yield cluster
    for configuration in ours:
        restored = configuration | {"metadata": {"name": "topicschema"}}
        cluster.kubectl("create", "-f", "-", stdin=json.dumps(restored))


@pytest.fixture(scope="module")
def api(installed: Cluster) -> Iterator[client.CustomObjectsApi]:
    with config.new_client_from_config(str(installed.kubeconfig)) as connection:
        yield client.CustomObjectsApi(connection)


def address(wire: Json, namespace: str) -> tuple[str, str, str, str]:
    return "topicschema.io", "v1alpha1", namespace, PLURALS[wire["kind"]]


def create(api: client.CustomObjectsApi, wire: Json, namespace: str, **options: Any) -> Json:
    if wire["kind"] == "SchemaRegistry":
        in_cluster: Json = api.create_cluster_custom_object(*_REGISTRIES, wire, **options)
        return in_cluster
    placed = changed(wire, "metadata.namespace", namespace)
    stored: Json = api.create_namespaced_custom_object(*address(wire, namespace), placed, **options)
    return stored


@contextmanager
def stored(api: client.CustomObjectsApi, wire: Json, namespace: str) -> Iterator[Json]:
    """Store the object as long as the context lasts: a namespace for each edit would have to be emptied afterwards."""
    there = create(api, wire, namespace)
    try:
        yield there
    finally:
        if wire["kind"] == "SchemaRegistry":
            api.delete_cluster_custom_object(*_REGISTRIES, wire["metadata"]["name"])
        else:
            api.delete_namespaced_custom_object(*address(there, namespace), there["metadata"]["name"])


def replace(api: client.CustomObjectsApi, wire: Json, namespace: str) -> None:
    name = wire["metadata"]["name"]
    if wire["kind"] == "SchemaRegistry":
        api.replace_cluster_custom_object(*_REGISTRIES, name, wire)
    else:
        api.replace_namespaced_custom_object(*address(wire, namespace), name, wire)


@pytest.fixture(scope="module")
def edited_in(installed: Cluster) -> Iterator[str]:
    """Yield the namespace of all objects that are edited, one after the other."""
    with fresh_namespace(installed) as name:
        yield name


def assert_refused(refusal: client.ApiException, row: Row) -> None:
    """Check that the server named that one field, in those words."""
    assert refusal.status == HTTPStatus.UNPROCESSABLE_ENTITY
    causes = [each for each in json.loads(refusal.body)["details"]["causes"] if _NOT_CHECKED not in each["message"]]
    assert {cause["field"] for cause in causes} == {row.field}
    assert any(row.words in cause["message"] for cause in causes)


def test_every_crd_is_established(installed: Cluster) -> None:
    for document in crds.documents().values():
        conditions = installed.get("crd", document["metadata"]["name"])["status"]["conditions"]
        current = {condition["type"] for condition in conditions if condition["status"] == "True"}
        assert current == {"Established", "NamesAccepted"}


@sentences(WRONG + WRONG_BROKERS + WRONG_REGISTRIES + WRONG_VALIDATIONS)
def test_a_wrong_object_is_refused_with_its_field(api: client.CustomObjectsApi, row: Row) -> None:
    with pytest.raises(client.ApiException) as caught:
        create(api, changed(row.base, row.path, row.value), "default", dry_run="All")
    assert_refused(caught.value, row)


@sentences(RIGHT + RIGHT_BROKERS + RIGHT_REGISTRIES + RIGHT_VALIDATIONS)
def test_a_right_object_is_accepted_and_read(api: client.CustomObjectsApi, row: Row) -> None:
    stored = create(api, changed(row.base, row.path, row.value), "default", dry_run="All")
    if row.base["kind"] == "TopicSchema":
        assert decode(TopicSchema, stored).spec.topic == stored["spec"]["topic"]
    if row.base["kind"] == "NamespaceSchemaPolicy":
        assert decode(NamespaceSchemaPolicy, stored).spec.pulsar_namespace == "shop/orders"
    if row.base["kind"] == "SchemaRegistry":
        assert decode(SchemaRegistry, stored).metadata.name == "crds"


@pytest.mark.parametrize("base", [TOPIC, POLICY], ids=["topic", "policy"])
def test_a_new_object_is_not_a_current_one_to_kstatus(api: client.CustomObjectsApi, edited_in: str, base: Json) -> None:
    with stored(api, changed(base, "status", {"observedGeneration": 1}), edited_in) as there:
        read = api.get_namespaced_custom_object(*address(there, edited_in), there["metadata"]["name"])
        assert read["status"] == {"observedGeneration": -1}
        assert kstatus(read) == "InProgress"
        written = changed(read, "status", {"observedGeneration": 1})
        answer = api.replace_namespaced_custom_object_status(
            *address(there, edited_in), there["metadata"]["name"], written
        )
        assert answer["status"] == {"observedGeneration": 1}


@sentences([row for row in WRONG + RIGHT if row.path == "spec.topic" and isinstance(row.value, str)])
def test_core_accepts_exactly_the_topics_that_the_crd_accepts(row: Row) -> None:
    if row.words == "Too long":  # the CRD alone limits the length as a whole
        assert Topic.parse(row.value)
    elif row.words:
        with pytest.raises(StalledError):
            Topic.parse(row.value)
    else:
        assert Topic.parse(row.value).local_name == row.value.rpartition("/")[2]


@sentences(WRONG_EDITS)
def test_a_wrong_edit_is_refused_with_its_field(api: client.CustomObjectsApi, edited_in: str, row: Row) -> None:
    with stored(api, row.base, edited_in) as there:
        edited = changed(there, row.path, row.value)
        with pytest.raises(client.ApiException) as caught:
            replace(api, edited, edited_in)
    assert_refused(caught.value, row)


@sentences(RIGHT_EDITS + RIGHT_BROKER_EDITS + RIGHT_REGISTRY_EDITS)
def test_a_right_edit_is_accepted(api: client.CustomObjectsApi, edited_in: str, row: Row) -> None:
    with stored(api, row.base, edited_in) as there:
        replace(api, changed(there, row.path, row.value), edited_in)


@pytest.fixture(scope="module")
def stored_topic(api: client.CustomObjectsApi) -> Iterator[Json]:
    stored = create(api, TOPIC, "default")
    yield stored
    api.delete_namespaced_custom_object(*address(stored, "default"), stored["metadata"]["name"])


@sentences(WRONG_STATUS)
def test_a_wrong_status_is_refused_with_its_field(api: client.CustomObjectsApi, stored_topic: Json, row: Row) -> None:
    body = stored_topic | {"status": changed(row.base, row.path, row.value)["status"]}
    with pytest.raises(client.ApiException) as caught:
        api.replace_namespaced_custom_object_status(
            *address(body, "default"), body["metadata"]["name"], body, dry_run="All"
        )
    assert_refused(caught.value, row)


def test_a_status_is_written_beside_spec_and_shown_in_the_columns(
    installed: Cluster, api: client.CustomObjectsApi, namespace: str
) -> None:
    stored = create(api, TOPIC, namespace)
    body = stored | {"status": RIGHT_STATUS, "spec": {}}
    api.replace_namespaced_custom_object_status(*address(body, namespace), "created", body)
    assert installed.get("tsc", "created", "-n", namespace)["spec"] == TOPIC["spec"]
    head, row = installed.kubectl("get", "tsc", "-n", namespace).splitlines()
    assert head.split() == ["NAME", "READY", "VERSION", "LATEST", "TYPE", "STRATEGY", "INSYNC", "VALIDATED", "AGE"]
    assert row.split()[:-1] == ["created", "True", "0", "2", "AVRO", "BACKWARD_TRANSITIVE"]
    wide = installed.kubectl("get", "tsc", "-n", namespace, "-o", "wide").splitlines()[0]
    assert wide.split() == [*head.split()[:-1], "REASON", "TOPIC", "AGE"]


def test_the_other_kinds_show_their_subjects(installed: Cluster, api: client.CustomObjectsApi, namespace: str) -> None:
    for wire in (POLICY, HISTORY, VERSION, CLAIM):
        create(api, wire, namespace)
    shown = {
        short: installed.kubectl("get", short, "-n", namespace).splitlines() for short in ("nsp", "sh", "sv", "pnc")
    }
    with stored(api, REGISTRY, namespace):
        head, row = installed.kubectl("get", "sreg", "crds", "-o", "wide").splitlines()
    assert head.split() == ["NAME", "READY", "REACHABLE", "VERSION", "REASON", "ADDRESS", "AGE"]
    assert row.split()[:2] == ["crds", "https://pulsar-admin.pulsar.svc:8443"]
    assert shown["nsp"][0].split("  ")[0] == "NAME"
    assert shown["nsp"][1].split()[:3] == ["orders", "shop/orders", "BACKWARD_TRANSITIVE"]
    assert shown["sh"][1].split()[1:6] == ["shop/orders", "created", "0", "shop", "created"]
    assert shown["sv"][1].split()[2:5] == ["0", "1", "AVRO"]
    assert shown["pnc"][1].split()[1:4] == ["shop/orders", "shop", "created"]


def test_the_categories_keep_users_resources_and_the_record_apart(
    installed: Cluster, api: client.CustomObjectsApi, namespace: str
) -> None:
    for wire in (TOPIC, POLICY, HISTORY, VERSION, CLAIM):
        create(api, wire, namespace)
    users = installed.kubectl("get", "pulsar", "-n", namespace, "-o", "name").split()
    record = installed.kubectl("get", "topicschema-store", "-n", namespace, "-o", "name").split()
    assert len(users) == 2
    assert len(record) == 3


def test_a_field_selector_selects_a_topic_by_its_name_in_pulsar(
    installed: Cluster, api: client.CustomObjectsApi, namespace: str
) -> None:
    create(api, TOPIC, namespace)
    create(api, POLICY, namespace)
    topic, pulsar_namespace = TOPIC["spec"]["topic"], POLICY["spec"]["pulsarNamespace"]
    for short, field in (("tsc", f"spec.topic={topic}"), ("nsp", f"spec.pulsarNamespace={pulsar_namespace}")):
        assert len(installed.get(short, "-n", namespace, f"--field-selector={field}")["items"]) == 1
        assert installed.get(short, "-n", namespace, f"--field-selector={field}x")["items"] == []


def test_an_unknown_field_is_dropped_with_a_warning_or_refused_by_kubectl(
    installed: Cluster, api: client.CustomObjectsApi, namespace: str
) -> None:
    unknown = changed(TOPIC, "spec.exemption", {"reason": "none"})
    placed = changed(unknown, "metadata.namespace", namespace)
    stored, status, headers = api.create_namespaced_custom_object_with_http_info(*address(placed, namespace), placed)
    assert status == HTTPStatus.CREATED
    assert "unknown field" in headers["Warning"]
    assert "exemption" not in stored["spec"]
    created = installed.try_kubectl("create", "-n", namespace, "-f", "-", stdin=json.dumps(unknown))
    assert 'strict decoding error: unknown field "spec.exemption"' in created.stderr
    applied = installed.try_kubectl("apply", "--server-side", "-n", namespace, "-f", "-", stdin=json.dumps(unknown))
    assert ".spec.exemption: field not declared in schema" in applied.stderr


def test_the_examples_apply(installed: Cluster, namespace: str) -> None:
    documents = [yaml.safe_load(path.read_text()) for path in sorted(EXAMPLES.glob("*schema*.yaml"))]
    placed = [changed(document, "metadata.namespace", namespace) for document in documents]
    installed.kubectl("apply", "--server-side", "--dry-run=server", "-f", "-", stdin=install.as_list(placed))
    assert {document["kind"] for document in documents} == {"TopicSchema", "NamespaceSchemaPolicy", "SchemaRegistry"}


def test_a_history_of_five_thousand_versions_is_stored_and_goes_on(
    api: client.CustomObjectsApi, namespace: str
) -> None:
    key = TopicKey("pulsar", Topic("shop", "orders", "x" * 200))
    entries = tuple(
        VersionEntry(
            number, SchemaType.LOCAL_DATE_TIME, digest(b"f"), digest(b"c"), Origin.BROKER, "2026-11-21T05:30:00Z"
        )
        for number in range(5000)
    )
    history = History(key, entries=entries[:-1])
    stored = create(api, history_to_wire(history, namespace=namespace, resource_version=None), namespace)
    longer = History(key, entries=entries)
    revision = stored["metadata"]["resourceVersion"]
    body = history_to_wire(longer, namespace=namespace, resource_version=revision)
    api.replace_namespaced_custom_object(*address(body, namespace), history_name(key), body)
    read = api.get_namespaced_custom_object(*address(body, namespace), history_name(key))
    assert history_from_wire(read) == longer
