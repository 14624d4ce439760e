"""The documents of manifests: resources of all kinds with their lines, and unknown members."""

import json

import pytest

from topicschema.cli.inputs.manifests import ManifestDocument, ManifestError, documents

ONE = """\
# a comment
apiVersion: topicschema.io/v1alpha1
kind: TopicSchema
metadata: {name: created, namespace: shop}
spec:
  topic: persistent://shop/orders/created
  type: AVRO
  properties:
    owner: a
    "b.c": b
  schema: |
    {
      "type": "string"
    }
"""
POLICY = """\
apiVersion: topicschema.io/v1alpha1
kind: NamespaceSchemaPolicy
metadata: {name: orders, namespace: shop}
spec: {registry: local, pulsarNamespace: shop/orders}
"""


def read(text: str) -> list[ManifestDocument]:
    return documents("a.yaml", text.encode())


def test_a_document_has_the_lines_of_its_members() -> None:
    [document] = read("---\n" + ONE)
    assert (document.kind, document.namespace, document.name) == ("TopicSchema", "shop", "created")
    lines = {"": 3, "kind": 4, "metadata.name": 5, "spec": 6, "spec.properties[owner]": 10, "spec.properties[b.c]": 11}
    assert {path: document.line_of(path) for path in lines} == lines
    assert [document.line_of("spec.schema", line) for line in (0, 1, 2)] == [12, 13, 14]
    assert (document.line_of("spec.type", 1), document.line_of("spec.nothing.there")) == (8, 6)


def test_all_documents_of_a_file_are_read_but_empty_ones() -> None:
    text = f"---\n---\n{ONE}---\n# nothing\n---\n{POLICY}---\nkind: ConfigMap\n---\n- a list\n"
    assert [(each.kind, each.name, each.line_of("kind")) for each in read(text)] == [
        ("TopicSchema", "created", 5),
        ("NamespaceSchemaPolicy", "orders", 21),
        ("ConfigMap", "", 25),
        ("", "", 27),
    ]


@pytest.mark.parametrize(
    ("kind", "own"), [("List", "kind: TopicSchema\n  apiVersion: topicschema.io/v1alpha1\n  "), ("TopicSchemaList", "")]
)
def test_the_items_of_a_list_are_documents(kind: str, own: str) -> None:
    item = f"- {own}metadata: {{name: NAME}}\n  spec:\n    topic: persistent://a/b/c\n    type: STRING\n"
    api_version = "v1" if kind == "List" else "topicschema.io/v1alpha1"
    text = (
        f"apiVersion: {api_version}\nkind: {kind}\nitems:\n" + item.replace("NAME", "one") + item.replace("NAME", "two")
    )
    one, two = read(text)
    assert [(each.kind, each.name) for each in (one, two)] == [("TopicSchema", "one"), ("TopicSchema", "two")]
    assert text.splitlines()[two.line_of("spec.topic") - 1] == "    topic: persistent://a/b/c"
    assert two.line_of("spec.topic") > one.line_of("spec.type")


def test_a_text_that_begins_with_a_brace_is_json_as_for_kubectl() -> None:
    resource = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "😀\x85"}}
    [one] = read(json.dumps(resource, indent=1))
    assert one.value == resource
    [with_lines] = read(json.dumps({**resource, "metadata": {}}, indent=1))
    assert with_lines.line_of("kind") == 3
    assert [each.line_of() for each in read(f"{json.dumps(resource)}\n{json.dumps(resource)}\n")] == [1, 2]
    [flow] = read("{kind: ConfigMap}")
    assert flow.kind == "ConfigMap"


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("schema: |", "Schema: |", 11, "spec has no member Schema; write schema"),
        ("  properties:", "  propertes:", 8, "spec has no member propertes; write properties"),
        ("type: AVRO", "type: AVRO\n  type: JSON", 8, "type stands here again, after line 7"),
        ("spec:", "Spec:", 5, "a TopicSchema has no member Spec; write spec"),
        (
            "schema: |",
            "keyValue: {encoding: INLINE, key: {typ: INT8}}\n  schema: |",
            11,
            "spec.keyValue.key has no member typ",
        ),
        ("v1alpha1", "v1beta1", 2, "apiVersion must be topicschema.io/v1alpha1, not topicschema.io/v1beta1"),
        ("apiVersion: topicschema.io/v1alpha1\n", "", 2, "apiVersion must be topicschema.io/v1alpha1, not null"),
        ("kind: TopicSchema", "kind: TopicScheme", 3, "topicschema.io has no kind TopicScheme; write TopicSchema"),
        ("name: created", "name: 08", 4, "metadata.name must be a text; write it in quotes"),
        ("shop}", "shop, labels: {a: y}}", 4, "metadata.labels[a] must be a text; write it in quotes"),
        ("{name: created, namespace: shop}", "created", 4, "metadata must be an object"),
        ("created,", "{{ .Values.name }},", 4, "this is a template ({{ or {%); render it first"),
        ("created,", '"{{ .Values.name }}",', 4, "this is a template"),
        ("spec:", "spec:\n{% if owned %}", 6, "this is a template"),
        ("schema: |", "schema: |\n    {{ .Files.Get }}", 11, "this is a template"),
    ],
)
def test_what_the_api_server_would_refuse_is_an_error_with_its_line(old: str, new: str, line: int, words: str) -> None:
    with pytest.raises(ManifestError) as raised:
        read(ONE.replace(old, new, 1))
    assert words in raised.value.why
    assert (raised.value.line, raised.value.file) == (line, "a.yaml")


def test_members_of_other_kinds_of_a_status_and_for_anchors_are_free() -> None:
    assert len(read(f"x-text: &a b\nstatus: {{Any: thing}}\n{ONE}---\nkind: Other\nSpec: 1\n")) == 2
