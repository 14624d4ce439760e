"""A manifest in the place of a schema's file: commands that read it, and those that refuse it."""

from pathlib import Path

import pytest

from support.command_line import run_line

EXAMPLES = sorted((Path(__file__).parents[3] / "manifests" / "examples").glob("topicschema*.yaml"))
V1 = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}'
V2 = V1.replace("}]", '}, {"name": "note", "type": "string"}]')
MANIFEST = """kind: ConfigMap
---
apiVersion: topicschema.io/v1alpha1
kind: TopicSchema
metadata: {{name: created}}
spec: {{topic: "persistent://shop/orders/created", type: {kind}, properties: {{owner: a}}, schema: '{schema}'}}
"""
PAIR = """apiVersion: topicschema.io/v1alpha1
kind: TopicSchema
metadata: {name: pairs}
spec:
  topic: persistent://shop/orders/pairs
  type: KEY_VALUE
  keyValue: {encoding: INLINE, key: {type: STRING}, value: {type: AVRO, schema: '%s'}}
"""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    for name, schema in (("v1", V1), ("v2", V2)):
        (tmp_path / f"{name}.avsc").write_text(schema)
        (tmp_path / f"{name}.yaml").write_text(MANIFEST.format(kind="AVRO", schema=schema))
    (tmp_path / "pair.yaml").write_text(PAIR % V1)
    (tmp_path / "pair.json").write_text(f'{{"key": "", "value": {V1}}}')
    one = MANIFEST.format(kind="AVRO", schema=V1)
    (tmp_path / "list.yaml").write_text(f"{one}---\n{one}")
    (tmp_path / "quotes.yaml").write_text(PAIR % '""')
    (tmp_path / "broken.yaml").write_text("kind: {")
    (tmp_path / "other.yaml").write_text("kind: ConfigMap")
    (tmp_path / "text.yaml").write_text(MANIFEST.format(kind="AVRO", schema="Int"))
    return tmp_path


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("check --strategy BACKWARD --history v1.avsc v2.yaml", 1, "FIELD_WITHOUT_DEFAULT at $.fields[1]"),
        ("check --strategy FORWARD --history v1.yaml v2.yaml", 0, "it may follow version 0 (v1.yaml)"),
        ("check --history v1.yaml v1.avsc", 0, "equals version 0 (v1.yaml)"),
        ("check --strategy BACKWARD --history - v2.yaml", 1, "(standard input)"),
        ("check --history pair.json pair.yaml", 0, "equals version 0 (pair.json)"),
        ("check text.yaml", 1, "text.yaml: created is not a schema that a broker of Pulsar"),
        ("check quotes.yaml", 1, "KEY_VALUE_FORM at"),
    ],
)
def test_check_takes_manifests_as_candidate_and_as_history(here: Path, line: str, code: int, words: str) -> None:
    done = run_line(here, line, (here / "v1.yaml").read_text())
    assert (done.returncode, done.stderr) == (code, "")
    assert words in done.stdout


def test_a_manifest_on_standard_input_may_begin_with_comments(here: Path) -> None:
    text = (here / "v1.yaml").read_text()
    for before in (
        "# A licence\n\n  # of two lines\n",
        "# one\n---\n",
        "%YAML 1.1\n---\n",
        "metadata: {name: created}\n",
    ):
        done = run_line(here, "check --history - v1.yaml", before + text)
        assert (done.returncode, "equals version 0" in done.stdout) == (0, True), (before, done.stdout, done.stderr)


@pytest.mark.parametrize(("manifest", "file"), [("pair.yaml", "--type KEY_VALUE pair.json"), ("v1.yaml", "v1.avsc")])
def test_a_manifest_has_the_fingerprint_of_its_schema(here: Path, manifest: str, file: str) -> None:
    alone = run_line(here, f"fingerprint {file}")
    assert (alone.returncode, alone.stdout) == (0, run_line(here, f"fingerprint {manifest}").stdout)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda each: each.stem)
def test_an_example_s_manifest_is_equal_to_itself(here: Path, example: Path) -> None:
    done = run_line(here, f"check --strategy FULL_TRANSITIVE --history {example} {example}")
    assert (done.returncode, "equals version 0" in " ".join(done.stdout.split())) == (0, True)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("check --type AVRO v1.yaml", "remove --type and --property"),
        ("check --property owner=b --history v1.avsc v1.yaml", "remove --type and --property"),
        ("check list.yaml", "TopicSchema created is given twice: list.yaml:3 and list.yaml:10"),
        ("check broken.yaml", "broken.yaml: line 1: this is not YAML: did not find expected node content"),
        ("check other.yaml", "other.yaml has no TopicSchema, NamespaceSchemaPolicy or SchemaRegistry"),
        ("fingerprint quotes.yaml", "quotes.yaml: KEY_VALUE_FORM"),
        ("can-connect producer v1.yaml", "v1.yaml is a manifest"),
        ("manifest --topic persistent://shop/orders/created v1.yaml", "v1.yaml is a manifest"),
        ("decode --schema v1.yaml /dev/null", "v1.yaml is a manifest"),
    ],
)
def test_what_a_command_does_not_take_as_a_manifest_is_wrong_input(here: Path, line: str, words: str) -> None:
    done = run_line(here, line)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
