"""A manifest holds the file's text byte for byte, under a name that Kubernetes takes."""

import pytest
import yaml

from topicschema.api.topicschemas import TopicSchema
from topicschema.api.wire import decode
from topicschema.cli.manifest import manifest, name_of, rendered
from topicschema.core.schemas import SchemaType
from topicschema.core.topics import Topic

TOPIC = "persistent://shop/orders/created"


def of(text: str) -> str:
    return rendered(manifest(TOPIC, {"type": "AVRO", "schema": text}, "created", "shop"))


@pytest.mark.parametrize(
    "text",
    [
        '"long"',
        '"long"\n',
        '{\n  "type": "int"\n}\n',
        '\n\n  {"type":\n "int"}\n\n\n',
        ' \n"long"\n ',
        '{"type": "int",  \n "doc": "a\ttab and trailing blanks"}  \n',
        '{\r\n"type": "int"}\r\n',
        '{"doc": "日本語 😀 é",\n "type": "int"}',
        '# no comment\n---\n"long"',
        '"a: b"\n- c\n',
        "x" * 5000,
        "null",
    ],
)
def test_the_text_comes_back_byte_for_byte(text: str) -> None:
    assert yaml.safe_load(of(text))["spec"]["schema"] == text


def test_a_text_of_several_lines_stays_readable() -> None:
    assert '  schema: |\n    {\n      "type": "int"\n    }\n' in of('{\n  "type": "int"\n}\n')


def test_the_manifest_is_a_topic_schema() -> None:
    resource = decode(TopicSchema, yaml.safe_load(of('"long"')))
    assert (resource.metadata.namespace, resource.metadata.name) == ("shop", "created")
    assert (resource.spec.topic, resource.spec.type, resource.spec.schema) == (TOPIC, SchemaType.AVRO, '"long"')


def test_without_a_text_or_a_namespace_these_are_left_out() -> None:
    resource = manifest(TOPIC, {"type": "STRING"}, "created", None)
    assert resource["metadata"] == {"name": "created"}
    assert resource["spec"] == {"topic": TOPIC, "type": "STRING"}


@pytest.mark.parametrize(
    ("topic", "name"),
    [
        (TOPIC, "orders-created"),
        ("persistent://a/b_C/D..x/".rstrip("/"), "b-c-d..x"),
        ("persistent://a/=/été", "t"),
        ("persistent://a/b/" + "x" * 400, "b-" + "x" * 251),
    ],
)
def test_a_name_is_made_of_namespace_and_topic(topic: str, name: str) -> None:
    assert name_of(Topic.parse(topic)) == name
