"""A manifest has the file's text byte for byte, or in lines, under a name that Kubernetes accepts.

tests/cluster/test_go_yaml.py compares what is written with other readers of YAML.
"""

import re
from pathlib import Path

import pytest
import yaml

from topicschema.api.topic_names import name_of
from topicschema.api.topicschemas import TopicSchema
from topicschema.api.wire import decode
from topicschema.cli import arguments
from topicschema.cli.commands.manifest import manifest, run
from topicschema.cli.inputs import manifests
from topicschema.cli.inputs.files import UsageError
from topicschema.cli.manifest import layout
from topicschema.cli.manifest.writing import rendered
from topicschema.core.schemas import SchemaType
from topicschema.core.topics import Topic

TOPIC = "persistent://shop/orders/created"
EXAMPLE = Path(__file__).parents[3] / "manifests" / "examples" / "topicschema-pair.yaml"
ONE_LINE = (
    '{"type":"record","name":"Reading","fields":[{"name":"probe","type":"string"},{"name":"celsius","type":"int"}]}'
)
LINES = layout.indented(ONE_LINE) or ""
PARTS = ("--property=key.schema.type=STRING", "--property=value.schema.type=AVRO")


def of(text: str) -> str:
    return rendered(manifest(TOPIC, {"type": "AVRO", "schema": text}, "created", "shop"))


@pytest.mark.parametrize(
    "text",
    [
        '"long"\n',
        '\n\n  {"type":\n "int"}\n\n\n',
        ' \n"long"\n ',
        '{"type": "int",  \n "doc": "a\ttab and trailing blanks"}  \n',
        '{\r\n"type": "int"}\r\n',
        '{"doc": "日本語 😀 é",\n "type": "int"}',
        '# no comment\n---\n"long"',
        '"a: b"\n- c\n',
        "x" * 5000,
        "null",
        "12:30:45",
        '{"doc": "a\x85b",\n "type": "int"}',
        "\ta\n b\u2028\ufeff\n",
        "a\n \n",
    ],
)
def test_the_text_comes_back_byte_for_byte(text: str) -> None:
    assert yaml.safe_load(of(text))["spec"]["schema"] == text
    [document] = manifests.documents("made", of(text).encode())
    assert document.value["spec"]["schema"] == text


@pytest.mark.parametrize("word", ["y", "1.e3", "12:30:45"])
def test_a_name_that_readers_take_for_another_value_is_quoted(word: str) -> None:
    text = rendered(manifest(TOPIC, {"type": "STRING", "properties": {word: word}}, word, word))
    resource = manifests.documents("made", text.encode())[0].value
    assert resource["spec"]["properties"] == {word: word}
    assert resource["metadata"] == {"name": word, "namespace": word}


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
        ("non-persistent://shop/orders/created", "orders-created"),
        ("persistent://a/b/c.d-e", "b-c.d-e"),
        ("persistent://a/b_C/D..x", "b-c-d-x-#"),
        ("persistent://a/=/été", "t-#"),
        ("persistent://a/b/" + "x" * 400, "b-" + "x" * 242 + "-#"),
        ("persistent://a/b/温度", "b-#"),
        ("persistent://a/=/温度", "#"),
    ],
)
def test_a_name_is_made_of_namespace_and_topic(topic: str, name: str) -> None:
    assert re.fullmatch(name.replace("#", "[0-9a-f]{8}"), name_of(Topic.parse(topic)))


def test_different_topics_have_different_names() -> None:
    topics = ["n/a+b", "n/a-b", "n/a_b", "n/A-b", "n-a/b", "n/温度", "n/🌡", "n/---", "n/" + "x" * 300, "n/" + "x" * 301]
    names = [name_of(Topic.parse(f"persistent://t/{each}")) for each in topics]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch("[a-z0-9][-a-z0-9]{0,251}[a-z0-9]", each) for each in names)


LONG = "d" * 70


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ('{"type":"array","items":"int"}', '{"type": "array", "items": "int"}\n'),
        ('{"type": "array",\t\r\n"items": ["int", {}, []]} \n', '{"type": "array", "items": ["int", {}, []]}\n'),
        (
            '{"doc":"' + LONG + '","fields":[{"a":-1.50e3,"b":"{,:\\"}"}]}',
            '{\n  "doc": "' + LONG + '",\n  "fields": [{"a": -1.50e3, "b": "{,:\\"}"}]\n}\n',
        ),
        ('[["' + LONG + '", "' + LONG + '"]]', '[\n  [\n    "' + LONG + '",\n    "' + LONG + '"\n  ]\n]\n'),
        ('"int"', None),
        ('{"type": "int"} // a comment', None),
        ('{"type": "int"} "more"', None),
        ("", None),
    ],
)
def test_the_layout_of_json_changes_only_space(text: str, lines: str | None) -> None:
    assert layout.indented(text) == lines


@pytest.mark.parametrize(
    ("options", "text", "is_changed"),
    [
        ("", ONE_LINE, True),
        ("", LINES.replace(",", ", "), True),
        ("", LINES.replace(" ", "\t"), True),
        ("", LINES, False),
        ("--verbatim", ONE_LINE, False),
        ("--type JSON", ONE_LINE, True),
        ("--type STRING", "null", False),
        ("", ONE_LINE.replace("R", "R", 1).replace('"int"', '{"type": "int", "doc": "a\x85b"}'), False),
    ],
)
def test_json_that_is_hard_to_read_in_yaml_is_written_in_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: str, text: str, *, is_changed: bool
) -> None:
    (tmp_path / "a.avsc").write_text(text)
    assert write_manifest(tmp_path / "a.avsc", *options.split()) == 0
    printed = capsys.readouterr().out
    assert yaml.safe_load(printed)["spec"]["schema"] == (layout.indented(text) if is_changed else text)
    assert ("  schema: |\n" in printed) == (is_changed or text == LINES)


def write_manifest(file: Path, *options: str) -> int:
    return run(arguments.parser().parse_args(["manifest", "--topic", TOPIC, *options, str(file)]))


def test_the_pair_of_a_manifest_becomes_the_same_manifest_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sent = manifests.schema("pair", EXAMPLE.read_bytes())
    (tmp_path / "pair.json").write_bytes(sent.schema)
    properties = [f"--property={name}={text}" for name, text in sent.properties.items()]
    assert write_manifest(tmp_path / "pair.json", "--type", "KEY_VALUE", *properties) == 0
    again = manifests.schema("made", capsys.readouterr().out.encode())
    assert again == sent


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        (["--property=key.schema.type=BYTES"], "the value has a schema and the type BYTES: add --property value.sche"),
        ([*PARTS, "--property=kv.encoding.type=BESIDE"], "write INLINE or SEPARATED"),
        (["--property=key.schema.type=NONE", PARTS[1]], "cannot have the type NONE"),
    ],
)
def test_a_pair_without_the_types_of_its_parts_is_wrong_input(
    tmp_path: Path, properties: list[str], words: str
) -> None:
    (tmp_path / "pair.json").write_text('{"key": "", "value": "string"}')
    with pytest.raises(UsageError, match=words):
        write_manifest(tmp_path / "pair.json", "--type", "KEY_VALUE", *properties)


def test_what_is_no_pair_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pair.json").write_text('"long"')
    assert write_manifest(tmp_path / "pair.json", "--type", "KEY_VALUE", *PARTS) == 1
    assert "KEY_VALUE_FORM at $" in capsys.readouterr().err


def test_properties_are_in_the_spec(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "v1.avsc").write_text('"long"')
    assert write_manifest(tmp_path / "v1.avsc", "--property", "owner=team-a") == 0
    assert yaml.safe_load(capsys.readouterr().out)["spec"]["properties"] == {"owner": "team-a"}
