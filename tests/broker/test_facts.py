"""Unexpected facts of a real broker about settings and HTTP.

The product is built on these; a broker of another version that breaks one of them shows here what has changed. More of
the kind: test_facts_versions (what becomes a version) and test_facts_deletion (how versions end).
"""

import pytest
from pulsar import Client
from pulsar.schema import StringSchema

from support.pulsar.rest_topic import RestTopic, optional, record
from testbed.pulsar import PULSAR_VERSION

_REFUSED_LATER = record('{"name": "a", "type": "string"}')
_FIRST = record(optional("a"))


def _strategy(topic: RestTopic) -> str:
    return f"/namespaces/{topic.namespace}/schemaCompatibilityStrategy"


@pytest.mark.parametrize("value", [b'"NOPE"', b'"backward"', b'""', b"null", b"", b"99"])
def test_an_unknown_strategy_is_answered_204_and_resets_the_policy(topic: RestTopic, value: bytes) -> None:
    topic.pulsar.call("PUT", _strategy(topic), "BACKWARD")
    assert topic.pulsar.call("GET", _strategy(topic)) == "BACKWARD"

    assert topic.pulsar.request("PUT", _strategy(topic), value).status == 204

    assert topic.pulsar.call("GET", _strategy(topic)) == "UNDEFINED"


def test_a_small_number_is_taken_for_a_strategys_position(topic: RestTopic) -> None:
    topic.pulsar.call("PUT", _strategy(topic), 5)

    assert topic.pulsar.call("GET", _strategy(topic)) == "FULL"


@pytest.mark.parametrize("value", [{}, [], True, b"FULL"])
def test_a_strategy_that_is_no_text_and_no_number_is_400_and_changes_nothing(topic: RestTopic, value: object) -> None:
    topic.pulsar.call("PUT", _strategy(topic), "BACKWARD")

    assert topic.pulsar.request("PUT", _strategy(topic), value).status == 400

    assert topic.pulsar.call("GET", _strategy(topic)) == "BACKWARD"


def test_null_is_stored_as_false_for_auto_update_and_an_empty_body_is_refused(topic: RestTopic) -> None:
    path = f"/namespaces/{topic.namespace}/isAllowAutoUpdateSchema"
    assert topic.pulsar.call("GET", path) is True

    assert topic.pulsar.request("POST", path, b"").status == 400
    topic.pulsar.call("POST", path, b"null")

    assert topic.pulsar.call("GET", path) is False


def test_uploads_ignore_that_auto_update_is_not_allowed(topic: RestTopic) -> None:
    topic.pulsar.call("POST", f"/namespaces/{topic.namespace}/isAllowAutoUpdateSchema", body=False)
    topic.pulsar.call("POST", f"/namespaces/{topic.namespace}/schemaValidationEnforced", body=True)

    assert topic.upload_version(_FIRST) == 0


def test_an_unknown_strategy_unsets_the_topics_own(topic: RestTopic) -> None:
    path = f"{topic.itself}/schemaCompatibilityStrategy"
    topic.pulsar.call("PUT", topic.itself)
    topic.pulsar.call("PUT", path, "BACKWARD")

    assert topic.pulsar.request("PUT", path, "NOPE").status == 204

    assert topic.pulsar.call("GET", path) is None


def test_an_incompatible_schema_is_409_on_upload_without_a_reason(topic: RestTopic) -> None:
    topic.upload_version(_FIRST)

    answer = topic.upload(_REFUSED_LATER)

    assert answer.status == 409
    assert "reason" not in answer.json
    assert "Unable to read schema" in answer.json["message"]
    assert "&quot;" in answer.json["message"]  # escaped, as for a page


def test_an_incompatible_schema_is_500_on_compatibility(topic: RestTopic) -> None:
    topic.upload_version(_FIRST)

    answer = topic.compatibility(_REFUSED_LATER)

    assert answer.status == 500
    stack = answer.json["reason"].partition("Stacktrace:")[2].strip()
    assert stack.split(":")[0].endswith(".schema.exceptions.IncompatibleSchemaException")


def test_a_schema_that_does_not_parse_is_422_on_upload_and_500_on_compatibility(topic: RestTopic) -> None:
    assert topic.upload('{"type": "record"}').status == 422

    answer = topic.compatibility('{"type": "record"}')

    assert answer.status == 500
    assert "InvalidSchemaDataException" in answer.json["reason"]


def test_compatibility_does_not_dedupe(topic: RestTopic) -> None:
    topic.pulsar.call("PUT", _strategy(topic), "ALWAYS_COMPATIBLE")
    topic.upload_version(_FIRST)
    topic.upload_version(_REFUSED_LATER)
    topic.pulsar.call("PUT", _strategy(topic), "FULL")

    assert topic.compatibility(_FIRST).status == 500
    assert topic.upload_version(_FIRST) == 0


def test_an_identical_text_is_compatible_even_under_always_incompatible(topic: RestTopic) -> None:
    topic.pulsar.call("PUT", _strategy(topic), "ALWAYS_INCOMPATIBLE")
    topic.upload_version(_FIRST)

    assert topic.compatibility(_FIRST).json["compatibility"] is True
    assert topic.compatibility(f"{_FIRST} ").status == 500
    assert topic.upload_version(f"{_FIRST} ") == 0


def test_numbers_and_booleans_of_properties_become_texts(topic: RestTopic) -> None:
    body = {"type": "AVRO", "schema": _FIRST, "properties": {"number": 1, "boolean": True, "half": 0.5}}

    topic.pulsar.call("POST", f"{topic.schemas}/schema", body)

    assert topic.read().json["properties"] == {"number": "1", "boolean": "true", "half": "0.5"}


WRONG_FORMS: dict[str, tuple[dict[str, object] | bytes, int]] = {
    "type in lower case": ({"type": "avro", "schema": _FIRST}, 500),
    "no schema": ({"type": "AVRO"}, 500),
    "a client's type": ({"type": "AUTO_CONSUME", "schema": ""}, 422),
    "null for a property": ({"type": "AVRO", "schema": _FIRST, "properties": {"a": None}}, 500),
    "an object for one": ({"type": "AVRO", "schema": _FIRST, "properties": {"a": {}}}, 400),
    "empty": (b"", 500),
    "cut": (b"{", 400),
}


@pytest.mark.parametrize(("body", "status"), WRONG_FORMS.values(), ids=WRONG_FORMS)
def test_requests_that_are_wrong_in_form(topic: RestTopic, body: dict[str, object] | bytes, status: int) -> None:
    assert topic.pulsar.request("POST", f"{topic.schemas}/schema", body).status == status


def test_errors_are_a_page_unless_json_is_requested(topic: RestTopic) -> None:
    topic.upload_version(_FIRST)
    body = {"type": "AVRO", "schema": _REFUSED_LATER}

    answer = topic.pulsar.request("POST", f"{topic.schemas}/schema", body, {"Accept": "*/*"})

    assert (answer.status, answer.text.lstrip()[:1]) == (409, "<")


def test_the_topic_in_a_path_is_decoded_twice(topic: RestTopic) -> None:
    """`a%2Bb`, a plus sign that is encoded once, is the topic `a b`."""
    blank, plus = RestTopic(topic.pulsar, topic.namespace, "a b"), RestTopic(topic.pulsar, topic.namespace, "a+b")
    once = topic.schemas.removesuffix("x") + "a%2Bb/schema"

    topic.pulsar.call("POST", once, {"type": "STRING", "schema": ""})

    assert blank.versions() == [0]
    assert plus.versions() == []
    assert plus.upload_version(_FIRST) == 0
    assert topic.pulsar.request("GET", topic.schemas.removesuffix("x") + "%25/schema").status == 500


def test_partitions_and_the_other_domain_share_one_history(topic: RestTopic) -> None:
    assert RestTopic(topic.pulsar, topic.namespace, "x-partition-7").upload_version("", "STRING") == 0
    client = Client(topic.pulsar.service_url)
    try:
        client.create_producer(f"non-persistent://{topic.namespace}/x", schema=StringSchema())
    finally:
        client.close()

    assert topic.versions() == [0, 1]
    assert topic.read(1).json["data"] == "null"  # Python's


def test_a_version_that_is_no_number_is_500(topic: RestTopic) -> None:
    topic.upload_version(_FIRST)

    answers = [
        topic.pulsar.request("GET", f"{topic.schemas}/schema/{version}").status for version in ("00", "-1", "abc")
    ]

    assert answers == [200, 404, 500]


def test_forms_of_content_that_the_broker_does_not_support(topic: RestTopic) -> None:
    body = {"type": "AVRO", "schema": _FIRST}
    path = f"{topic.schemas}/schema"

    assert topic.pulsar.request("POST", path, body, {"Accept": "text/plain"}).status == 406
    assert topic.pulsar.request("POST", path, body, {"Content-Type": "text/plain"}).status == 415
    assert topic.versions() == []


def test_a_404_of_a_path_that_does_not_exist_has_no_reason(topic: RestTopic) -> None:
    answer = topic.pulsar.request("GET", f"{topic.schemas}/nothing")

    assert answer.status == 404
    assert "reason" not in answer.json


def test_a_tenants_name_that_cannot_be_is_412(topic: RestTopic) -> None:
    answer = topic.pulsar.request("GET", "/schemas/no%20tenant/n/x/schema")

    assert (answer.status, answer.json) == (412, {"reason": "Topic name is not valid"})


def test_a_slash_in_a_topics_name_reaches_into_another_namespace(topic: RestTopic) -> None:
    """Check that until 4.1 it is a name of the old form, tenant/cluster/namespace/topic, without the cluster."""
    tenant = topic.namespace.partition("/")[0]
    elsewhere = RestTopic(topic.pulsar, f"{tenant}/other")
    topic.pulsar.call("PUT", f"/namespaces/{elsewhere.namespace}")

    answer = RestTopic(topic.pulsar, topic.namespace, "other/x").upload(_FIRST)

    if PULSAR_VERSION not in ("4.0", "4.1"):
        assert (answer.status, answer.json["reason"]) == (412, "Topic name is not valid")
        return
    assert answer.status == 200
    assert elsewhere.versions() == [0]
