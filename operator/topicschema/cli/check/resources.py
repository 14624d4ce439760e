"""Resources of our kinds in the files that a command line names, or in contents from Git."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from topicschema.api import GROUP, bounds
from topicschema.api.kinds import NAMESPACE_SCHEMA_POLICY, SCHEMA_REGISTRY, TOPIC_SCHEMA
from topicschema.api.policies import NamespaceSchemaPolicy
from topicschema.api.registries import SchemaRegistry
from topicschema.api.topicschemas import TopicSchema, TopicSchemaSpec
from topicschema.api.wire import decode
from topicschema.cli.inputs import files, manifests
from topicschema.cli.inputs.files import STANDARD_INPUT, UsageError
from topicschema.cli.inputs.manifests import ManifestDocument, ManifestError
from topicschema.core.errors import StalledError
from topicschema.core.policy import Policy
from topicschema.core.schemas import PulsarVersion, SchemaInfo
from topicschema.core.topics import Topic

SUFFIXES: Final = (".yaml", ".yml", ".json")
MARK: Final = GROUP.encode()
"""Bytes that every manifest of these kinds has."""
KINDS: Final = {
    TOPIC_SCHEMA.name: "spec.topic",
    NAMESPACE_SCHEMA_POLICY.name: "spec.pulsarNamespace",
    SCHEMA_REGISTRY.name: "spec",
}
"""The kinds that are checked, and the field of each with its topic or Pulsar namespace, if it has one."""


class Resource:
    """A TopicSchema, a NamespaceSchemaPolicy or a SchemaRegistry, decoded once."""

    def __init__(self, document: ManifestDocument) -> None:
        self.document = document
        self.kind, self.name = document.kind, document.name
        self.namespace = "" if self.kind == SCHEMA_REGISTRY.name else document.namespace
        self._infos: dict[PulsarVersion, SchemaInfo] = {}

    @cached_property
    def fault(self) -> tuple[str, str] | None:
        """The place and the message of what the API server refuses, whatever the schema is, or None."""
        try:
            if self.kind == SCHEMA_REGISTRY.name:
                _ = self.registry
            elif self.kind == NAMESPACE_SCHEMA_POLICY.name:
                _ = self.policy.spec.claim_key
            else:
                Topic.parse(self.spec.topic)
        except StalledError as error:
            place, colon, _ = error.message.partition(": ")
            return place if colon and " " not in place else KINDS[self.kind], error.message
        faults = bounds.faults(manifests.SPECS[self.kind], self.document.value["spec"], "spec")
        return next(((path, f"{path}: {why}") for path, why in faults), None)

    @property
    def key(self) -> tuple[str, str, str]:
        """Kind, Kubernetes namespace and name."""
        return self.kind, self.namespace, self.name

    @property
    def written_topic(self) -> str:
        """The topic with its domain, or "" if the manifest has none."""
        return _text(self.document.value, "spec", "topic")

    @cached_property
    def topic(self) -> str:
        """The topic as `tenant/namespace/name`, or "" if the manifest has none."""
        return self.written_topic.partition("://")[2]

    @cached_property
    def pulsar_namespace(self) -> str:
        """The Pulsar namespace that a policy governs, or "" if the manifest has none."""
        return _text(self.document.value, "spec", "pulsarNamespace")

    @cached_property
    def spec(self) -> TopicSchemaSpec:
        """The spec of a TopicSchema. Raises StalledError if the manifest is none."""
        return decode(TopicSchema, self.document.value).spec

    @cached_property
    def policy(self) -> NamespaceSchemaPolicy:
        """The policy. Raises StalledError if the manifest is none."""
        return decode(NamespaceSchemaPolicy, self.document.value)

    @cached_property
    def registry(self) -> SchemaRegistry:
        """The registry. Raises StalledError if the manifest is none."""
        return decode(SchemaRegistry, self.document.value)

    def info(self, policy: Policy) -> SchemaInfo:
        """Return the schema of a TopicSchema in the form of the REST API. Raises InvalidSchemaError, WaitingError."""
        pulsar_version = policy.profile.pulsar_version
        if pulsar_version not in self._infos:
            self._infos[pulsar_version] = manifests.schema_of(self.document, pulsar_version)
        return self._infos[pulsar_version]


@dataclass(frozen=True, slots=True)
class Manifest:
    """A resource, the name of its file for messages, its path (None for standard input), and the file's content."""

    file: str
    path: Path | None
    content: bytes
    resource: Resource

    @property
    def line(self) -> int:
        """The line where the resource begins."""
        return self.resource.document.line_of()

    @property
    def label(self) -> str:
        """The resource's name for messages, `namespace/name`."""
        resource = self.resource
        return f"{resource.namespace}/{resource.name}" if resource.namespace else resource.name


class ManifestReader:
    """Reader of manifests, which parses equal contents once."""

    def __init__(self) -> None:
        self._parsed: dict[bytes, tuple[Resource, ...]] = {}

    def resources(self, name: str, content: bytes) -> tuple[Resource, ...]:
        """Return the resources of a file, whatever their members. Raises ManifestError if it is not YAML."""
        return tuple(each for each in self._every(name, content) if each.kind in KINDS)

    def _every(self, name: str, content: bytes) -> tuple[Resource, ...]:
        """Return the resources, and the file's other documents."""
        parsed = self._parsed.get(content)
        if parsed is None:
            parsed = self._parsed[content] = tuple(map(Resource, manifests.unchecked_documents(name, content)))
        return parsed

    def read(self, names: Sequence[str], texts: Mapping[str, bytes]) -> tuple[list[Manifest], list[ManifestError]]:
        """Return the resources of files, folders and standard input, and the errors of those that are invalid.

        `texts` has the contents of files that are read already. Raises UsageError if one cannot be read, or has no
        resource.
        """
        valid, errors = list[Manifest](), list[ManifestError]()
        for name in names:
            before = len(valid) + len(errors)
            for file, content in _contents(name, texts):
                path, shown = None if file == STANDARD_INPUT else Path(file), files.shown(file)
                try:
                    for each in self._every(shown, content):
                        error = _error(each, shown)
                        if error is not None:
                            errors.append(error)
                        elif each.kind in KINDS:
                            valid.append(Manifest(shown, path, content, each))
                except ManifestError as error:
                    errors.append(error)
            if len(valid) + len(errors) == before:
                raise UsageError(f"{files.shown(name)} has no TopicSchema, NamespaceSchemaPolicy or SchemaRegistry")
        return valid, errors


def _error(resource: Resource, file: str) -> ManifestError | None:
    """Return the error if the API server would refuse the resource, whatever its schema is."""
    document = resource.document
    if document.file != file:  # equal contents are parsed once
        document = replace(document, file=file)
    try:
        manifests.check_members(document)
    except ManifestError as error:
        return error
    fault = resource.fault if resource.kind in KINDS else None
    return None if fault is None else document.error(*fault)


def _contents(name: str, texts: Mapping[str, bytes]) -> Iterable[tuple[str, bytes]]:
    if name != STANDARD_INPUT and Path(name).is_dir():
        return _of_folder(name)
    return [(name, texts[name] if name in texts else files.read(name))]


def _of_folder(name: str) -> Iterator[tuple[str, bytes]]:
    """Yield the manifests of a folder, except in hidden folders, with their names."""
    for folder, folders, names in os.walk(name, onerror=_unreadable):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        for file in sorted(names):
            if file.lower().endswith(SUFFIXES):
                path = str(Path(folder, file))
                content = files.read(path)
                if MARK in content:
                    yield path, content


def _unreadable(error: OSError) -> None:
    raise UsageError(f"{error.filename}: {error.strerror}") from None


def _text(value: Any, *names: str) -> str:
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""
