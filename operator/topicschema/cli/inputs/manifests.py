"""Kubernetes manifests: the resources of a file as kubectl reads them, with their lines, and the schema of one."""

import difflib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from topicschema import protoc
from topicschema.api import GROUP, kinds
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY, SCHEMA_REGISTRY, TOPIC_SCHEMA, Kind
from topicschema.api.policies import NamespaceSchemaPolicySpec
from topicschema.api.registries import SchemaRegistrySpec
from topicschema.api.topicschemas import TopicSchemaSpec
from topicschema.api.wire import decode, unknown_members
from topicschema.cli.check import text as check_text
from topicschema.cli.check.engine import Refusal
from topicschema.cli.inputs import go_yaml
from topicschema.cli.inputs.files import UsageError
from topicschema.cli.inputs.go_yaml import YamlError, YamlNode
from topicschema.core.errors import InvalidSchemaError, StalledError, WaitingError
from topicschema.core.formats import key_value
from topicschema.core.schemas import NEWEST, PulsarVersion, SchemaInfo, SchemaType
from topicschema.judging import schema_source
from topicschema.protoc import ProtobufSources

T = TypeVar("T")
SPECS: Final[Mapping[str, type]] = {
    TOPIC_SCHEMA.name: TopicSchemaSpec,
    NAMESPACE_SCHEMA_POLICY.name: NamespaceSchemaPolicySpec,
    SCHEMA_REGISTRY.name: SchemaRegistrySpec,
}
"""The types of the specs of the kinds with manifests."""
_ROOT: Final = ("apiVersion", "kind", "metadata", "spec", "status")
_ANCHORS: Final = "x-"
_KINDS: Final = frozenset(each.name for each in vars(kinds).values() if isinstance(each, Kind) and each.group == GROUP)
_RENDER: Final = "this is a template ({{ or {%); render it first, for instance with helm template"
_TEMPLATE: Final = re.compile(r"\{\{|\{%")
_STEP: Final = re.compile(r"\[([^\]]*)\]?|([^.\[]+)")


class ManifestError(UsageError):
    """A manifest that the API server would not take, or that cannot be read. `line` counts from 1."""

    def __init__(self, file: str, line: int, why: str) -> None:
        super().__init__(f"{file}: line {line}: {why}")
        self.file = file
        self.line = line
        self.why = why


@dataclass(frozen=True, slots=True)
class ManifestDocument:
    """One resource of a file, or any other document. `kind`, `namespace` and `name` are empty if it has none.

    `value` is the parsed JSON.
    """

    file: str
    kind: str
    namespace: str
    name: str
    value: Any
    node: YamlNode

    def line_of(self, path: str = "", text_line: int = 0) -> int:
        """Return the line of the file, from 1, with the member at `path`, or with its nearest parent.

        `path` is written as in the errors of `api.wire`: `spec.properties[owner]`. With a `text_line` of 1 or more, the
        member is a text, and the result is the line of the file that has this line of the text. Only a literal block
        (`|`) has these lines in the file; another text is at its first line.
        """
        node, line = self.node, self.node.line
        for key, name in _STEP.findall(path):
            step = int(key) if isinstance(node.value, list) and key.isdecimal() else key or name
            if step not in node.children:
                return line
            line = node.key_lines.get(str(step), node.children[step].line)
            node = node.children[step]
        if not text_line:
            return line
        return node.line if node.text_line is None else node.text_line + text_line - 1

    def spec(self, cls: type[T]) -> T:
        """Return the spec, whose type is `cls`. Raises ManifestError if it does not fit."""
        try:
            return decode(cls, self.value.get("spec"), "spec")
        except StalledError as error:
            raise self.error(error.message.partition(": ")[0], error.message) from None

    def error(self, path: str, why: str) -> ManifestError:
        """Return the error for the member at `path`."""
        return ManifestError(self.file, self.line_of(path), why)


def documents(file: str, content: bytes) -> list[ManifestDocument]:
    """Return the resources in the file, and its other documents that are not empty. Lists are flattened.

    `file` is the name for messages. Raises ManifestError if kubectl could not read the file, or if the API server would
    refuse the members of a TopicSchema, NamespaceSchemaPolicy or SchemaRegistry. Values of members are not checked.
    """
    present = unchecked_documents(file, content)
    for each in present:
        check_members(each)
    return present


def unchecked_documents(file: str, content: bytes) -> list[ManifestDocument]:
    """Return the documents as `documents` does, whatever their members. Raises ManifestError if it is not YAML."""
    text = ""
    try:
        text = go_yaml.decoded(content)
        return [each for root in _roots(text) for each in _resources(file, root)]
    except YamlError as error:
        _refuse_template(file, text)
        raise ManifestError(file, error.line, error.why) from None


def schema_of(document: ManifestDocument, pulsar_version: PulsarVersion = NEWEST) -> SchemaInfo:
    """Return the schema of a TopicSchema in the form of the REST API, with .proto sources compiled.

    Raises ManifestError if the spec is none, InvalidSchemaError for a pair or sources that are none, and WaitingError
    if the machine cannot compile.
    """
    spec = document.spec(TopicSchemaSpec)
    try:
        sources = schema_source.sources_of(spec)
        if sources is not None:
            envelope = protoc.compile_envelope(sources, pulsar_version=pulsar_version)
            return SchemaInfo(SchemaType.PROTOBUF_NATIVE, envelope, dict(spec.properties))
        info = schema_source.info_of(spec)
    except UnicodeEncodeError:
        raise document.error("spec", "half of a surrogate pair (\\uD800 and the like) is no text") from None
    if info.type is not SchemaType.KEY_VALUE:
        return info
    return replace(info, schema=key_value.text_of(info.schema).encode())


def schema(file: str, content: bytes, pulsar_version: PulsarVersion = NEWEST) -> SchemaInfo:
    """Return the schema of the file's TopicSchema. Raises UsageError unless there is one, and it is valid."""
    present = documents(file, content)
    resources = [each for each in present if each.kind == TOPIC_SCHEMA.name]
    if len(resources) != 1:
        others = sorted({each.kind for each in present if each.kind} - {TOPIC_SCHEMA.name})
        beside = f" (it has {', '.join(others)})" if others and not resources else ""
        raise UsageError(f"{file} has {len(resources)} TopicSchemas{beside}; one is needed")
    try:
        return schema_of(resources[0], pulsar_version)
    except InvalidSchemaError as error:
        sources = schema_source.sources_of(resources[0].spec(TopicSchemaSpec))
        raise _refused(file, sources, error) from None
    except WaitingError as error:
        raise UsageError(error.message) from None


def _refused(file: str, sources: ProtobufSources | None, error: InvalidSchemaError) -> UsageError:
    if sources is None:
        return UsageError(f"{file}: {error.sentence}")
    culprit = protoc.file_of(error.place.path, sources.files)
    text = "" if culprit is None or error.place.line is None else sources.files[culprit]
    shown = f"{culprit} of {file}" if culprit else file
    return UsageError(check_text.not_compiled(text, Refusal.of(error), shown))


def _roots(text: str) -> list[YamlNode]:
    """Return the documents. kubectl reads a text that begins with a brace as JSON, if it is JSON."""
    values = _json_values(text) if text.lstrip().startswith("{") else None
    if values is None:
        return list(go_yaml.documents(text))
    try:
        roots = list(go_yaml.documents(text))
    except YamlError:
        roots = []
    has_lines = [each.value for each in roots] == [value for value, _ in values]
    return roots if has_lines else [YamlNode(value, line) for value, line in values]


def _json_values(text: str) -> list[tuple[Any, int]] | None:
    """Return the values, each with its first line, of a text of JSON objects. Return None if it is no such text."""
    decoder = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_once)
    values, at = [], 0
    try:
        while at < len(text.rstrip()):
            at += len(text[at:]) - len(text[at:].lstrip())
            value, end = decoder.raw_decode(text, at)
            values.append((value, text.count("\n", 0, at) + 1))
            at = end
    except (ValueError, RecursionError):
        return None
    return values


def _once(members: Any) -> Any:
    value = dict(members)
    if len(value) < len(members):
        raise ValueError("doubled")
    return value


def _resources(file: str, root: YamlNode) -> Iterator[ManifestDocument]:
    value = root.value
    if value is None:
        return
    kind = value.get("kind") if isinstance(value, dict) else None
    items = value.get("items") if isinstance(kind, str) and kind.endswith("List") else None
    if not isinstance(kind, str) or not isinstance(items, list):
        yield _document(file, root)
        return
    nodes = root.children["items"].children if root.children else {}
    for index, item in enumerate(items):
        typed = {"apiVersion": value.get("apiVersion"), "kind": kind.removesuffix("List")}
        if isinstance(item, dict) and kind != "List":
            item = typed | item  # noqa: PLW2901  # the items of a TopicSchemaList may lack them
        node = nodes.get(index, root)
        yield _document(file, replace(node, value=item))


def _document(file: str, root: YamlNode) -> ManifestDocument:
    value = root.value if isinstance(root.value, dict) else {}
    metadata = value.get("metadata")
    named = metadata if isinstance(metadata, dict) else {}
    kind, namespace, name = (
        each if isinstance(each, str) else "" for each in (value.get("kind"), named.get("namespace"), named.get("name"))
    )
    return ManifestDocument(file, kind, namespace, name, root.value, root)


def check_members(document: ManifestDocument) -> None:
    """Raise ManifestError for a member of our kinds that the API server would refuse, or that is a template's."""
    value = document.value
    if not isinstance(value, dict):
        return
    api_version = value.get("apiVersion")
    if document.kind not in SPECS:
        if isinstance(api_version, str) and api_version.startswith(f"{GROUP}/") and document.kind not in _KINDS:
            why = f"{GROUP} has no kind {_shown(value.get('kind'))}; {_advice(document.kind, tuple(SPECS))}"
            raise document.error("kind", why)
        return
    if api_version != TOPIC_SCHEMA.api_version:
        raise document.error("apiVersion", f"apiVersion must be {TOPIC_SCHEMA.api_version}, not {_shown(api_version)}")
    for name in value:
        if name not in _ROOT and not name.startswith(_ANCHORS):
            raise document.error(name, f"a {document.kind} has no member {_shown(name)}; {_advice(name, _ROOT)}")
    _check_metadata(document)
    for parent, name, known in unknown_members(SPECS[document.kind], value.get("spec"), "spec"):
        raise document.error(f"{parent}.{name}", f"{parent} has no member {_shown(name)}; {_advice(name, known)}")
    _check_rendered(document)


def _check_rendered(document: ManifestDocument) -> None:
    for path in ("metadata.name", "metadata.namespace", "spec.topic", "spec.type", "spec.schema"):
        parent, name = path.split(".")
        member = document.value.get(parent)
        text = member.get(name) if isinstance(member, dict) else None
        if isinstance(text, str) and _TEMPLATE.search(text if name != "schema" else text.lstrip()[:2]):
            raise document.error(path, _RENDER)


def _check_metadata(document: ManifestDocument) -> None:
    metadata = document.value.get("metadata")
    if not isinstance(metadata, dict):
        raise document.error("metadata", f"metadata must be an object with the resource's name, not {_shown(metadata)}")
    for name in ("name", "namespace"):
        if not isinstance(metadata.get(name, ""), str):
            raise document.error(f"metadata.{name}", f"metadata.{name} must be a text; write it in quotes")
    for name in ("labels", "annotations"):
        for key, text in (metadata.get(name) or {}).items():
            if not isinstance(text, str):
                why = f"metadata.{name}[{key}] must be a text; write it in quotes"
                raise document.error(f"metadata.{name}[{key}]", why)


def _advice(name: str, known: Sequence[str]) -> str:
    lower = {each.lower(): each for each in known}
    near = difflib.get_close_matches(name.lower(), lower, 1)
    return f"write {lower[near[0]]}" if near else f"its members are {', '.join(known)}"


def _refuse_template(file: str, text: str) -> None:
    """Raise ManifestError if the text is a template."""
    match = _TEMPLATE.search(text)
    if match is not None:
        raise ManifestError(file, text.count("\n", 0, match.start()) + 1, _RENDER) from None


def _shown(value: Any) -> str:
    return go_yaml.shown(value) if isinstance(value, str) else json.dumps(value)[:60]
