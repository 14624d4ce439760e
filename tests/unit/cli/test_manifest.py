"""A manifest holds the file's text byte for byte, under a name that Kubernetes takes."""

from pathlib import Path

import pytest
import yaml

from topicschema.api.topicschemas import TopicSchema
from topicschema.api.wire import decode
from topicschema.cli import arguments
from topicschema.cli.commands.manifest import manifest, name_of, rendered, run
from topicschema.cli.inputs import manifests
from topicschema.cli.inputs.files import UsageError
from topicschema.core.schemas import SchemaType
from topicschema.core.topics import Topic

TOPIC = "persistent://shop/orders/created"
EXAMPLE = Path(__file__).parents[3] / "manifests" / "examples" / "topicschema-pair.yaml"
PARTS = ("--property=key.schema.type=STRING", "--property=value.schema.type=AVRO")


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


def made(file: Path, *options: str) -> int:
    given = ["manifest", "--topic", TOPIC, *options, str(file)]
    return run(arguments.parser().parse_args(given))


def test_a_pair_as_a_broker_tells_it_becomes_the_manifest_that_it_came_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sent = manifests.schema("pair", EXAMPLE.read_bytes())
    (tmp_path / "pair.json").write_bytes(sent.schema)
    properties = [f"--property={name}={text}" for name, text in sent.properties.items()]
    assert made(tmp_path / "pair.json", "--type", "KEY_VALUE", *properties) == 0
    again = manifests.schema("made", capsys.readouterr().out.encode())
    assert again == sent


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            ("--property=key.schema.type=BYTES",),
            "the value has a schema and the type BYTES: add --property value.schema",
        ),
        ((*PARTS, "--property=kv.encoding.type=BESIDE"), "write INLINE or SEPARATED"),
        (("--property=key.schema.type=NONE", PARTS[1]), "cannot have the type NONE"),
    ],
)
def test_a_pair_of_which_nobody_says_what_it_is_made_of_is_wrong_input(
    tmp_path: Path, given: tuple[str, ...], words: str
) -> None:
    (tmp_path / "pair.json").write_text('{"key": "", "value": "string"}')
    with pytest.raises(UsageError, match=words):
        made(tmp_path / "pair.json", "--type", "KEY_VALUE", *given)


def test_what_is_no_pair_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pair.json").write_text('"long"')
    assert made(tmp_path / "pair.json", "--type", "KEY_VALUE", *PARTS) == 1
    assert "KEY_VALUE_FORM at $" in capsys.readouterr().err


def test_properties_that_are_given_stand_in_the_spec(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "v1.avsc").write_text('"long"')
    assert made(tmp_path / "v1.avsc", "--property", "owner=team-a") == 0
    assert yaml.safe_load(capsys.readouterr().out)["spec"]["properties"] == {"owner": "team-a"}
