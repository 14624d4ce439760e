"""A manifest where a schema's file is wanted: what it tells is what is asked, and what others do not take is said."""

import subprocess
from pathlib import Path

import pytest

from support import command_line

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
    (tmp_path / "tag.yaml").write_text("kind: !timestamp TopicSchema")
    (tmp_path / "kind.yaml").write_text("kind: !!bool TopicSchema")
    (tmp_path / "deep.yaml").write_text("[" * 2000)
    (tmp_path / "itself.yaml").write_text("kind: TopicSchema\nspec: &b [*b]\n")
    (tmp_path / "bytes.yaml").write_bytes(b"kind: \x07")
    (tmp_path / "text.yaml").write_text(MANIFEST.format(kind="AVRO", schema="Int"))
    return tmp_path


def run(where: Path, line: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return command_line.run(where, *line.split(), stdin=stdin)


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("check --strategy BACKWARD --history v1.avsc v2.yaml", 1, "FIELD_WITHOUT_DEFAULT at $.fields[1]"),
        ("check --strategy FORWARD --history v1.yaml v2.yaml", 0, "it may follow version 0 (v1.yaml)"),
        ("check --history v1.yaml v1.avsc", 0, "equals version 0 (v1.yaml)"),
        ("check --strategy BACKWARD --history - v2.yaml", 1, "(standard input)"),
        ("check --history pair.json pair.yaml", 0, "equals version 0 (pair.json)"),
        ("check text.yaml", 1, "text.yaml is not a schema that a broker of Pulsar 5.0 accepts"),
    ],
)
def test_check_takes_manifests_as_candidate_and_as_history(here: Path, line: str, code: int, words: str) -> None:
    done = run(here, line, (here / "v1.yaml").read_text())
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
        done = run(here, "check --history - v1.yaml", before + text)
        assert (done.returncode, "equals version 0" in done.stdout) == (0, True), (before, done.stdout, done.stderr)


@pytest.mark.parametrize(("manifest", "file"), [("pair.yaml", "--type KEY_VALUE pair.json"), ("v1.yaml", "v1.avsc")])
def test_a_manifest_has_the_fingerprint_of_its_schema(here: Path, manifest: str, file: str) -> None:
    alone = run(here, f"fingerprint {file}")
    assert (alone.returncode, alone.stdout) == (0, run(here, f"fingerprint {manifest}").stdout)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda each: each.stem)
def test_an_example_s_manifest_is_equal_to_itself(here: Path, example: Path) -> None:
    done = run(here, f"check --strategy FULL_TRANSITIVE --history {example} {example}")
    assert (done.returncode, "equals version 0" in done.stdout) == (0, True)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("check --type AVRO v1.yaml", "remove --type and --property"),
        ("check --property owner=b --history v1.avsc v1.yaml", "remove --type and --property"),
        ("check list.yaml", "list.yaml has 2 TopicSchemas; one is needed"),
        ("check broken.yaml", "broken.yaml: line 1: this is not YAML: did not find expected node content"),
        ("check tag.yaml", "tag.yaml: line 1: the tag !timestamp is not for Kubernetes; remove it"),
        ("check kind.yaml", "kind.yaml: line 1: TopicSchema is not of the type !!bool"),
        ("check deep.yaml", "deep.yaml: line 1: it is nested too deep"),
        ("check itself.yaml", "itself.yaml: line 2: the anchor 'b' contains itself"),
        ("check bytes.yaml", "bytes.yaml: line 1: the character U+0007 is not allowed"),
        ("check other.yaml", "other.yaml has 0 TopicSchemas (it has ConfigMap); one is needed"),
        ("check quotes.yaml", "quotes.yaml: KEY_VALUE_FORM"),
        ("can-connect producer v1.yaml", "v1.yaml is a manifest"),
        ("manifest --topic persistent://shop/orders/created v1.yaml", "v1.yaml is a manifest"),
        ("decode --schema v1.yaml /dev/null", "v1.yaml is a manifest"),
    ],
)
def test_what_cannot_be_asked_of_a_manifest_is_wrong_input(here: Path, line: str, words: str) -> None:
    done = run(here, line)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
