"""The CRDs, made from the types of this package: `python -m topicschema.api.crds [--check] FOLDER`.

This module has the short names and columns of each kind. `openapi` and the types have the fields.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from topicschema.api import kinds
from topicschema.api.kinds import Kind
from topicschema.api.openapi import root_schema
from topicschema.api.policies import NamespaceSchemaPolicy
from topicschema.api.registries import SchemaRegistry
from topicschema.api.store_kinds import PulsarNamespaceClaim, SchemaHistory, SchemaVersion
from topicschema.api.topicschemas import TopicSchema

_HEADER = "# Generated from operator/topicschema/api by `make generate`: edit there, not here.\n"
_FOR_USERS = ("pulsar",)  # not "topicschema": a category hides the kind of that singular name from `kubectl get`
_FOR_ADMINISTRATORS = ("topicschema-store",)  # apart, so that the category above does not list them to users


@dataclass(frozen=True, slots=True)
class PrinterColumn:
    """A column of `kubectl get`; one that is not `shown` appears with `-o wide` only."""

    name: str
    path: str
    type: str = "string"
    shown: bool = True

    def document(self) -> dict[str, Any]:
        """Return the column as a CRD lists it."""
        column = {"name": self.name, "type": self.type, "jsonPath": self.path}
        return column if self.shown else column | {"priority": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Presentation:
    """The names, columns and selectable fields of one kind."""

    kind: Kind
    resource: type
    singular: str
    short_name: str
    categories: tuple[str, ...]
    columns: tuple[PrinterColumn, ...]
    selectable: tuple[str, ...] = ()
    has_status: bool = False


_READY = PrinterColumn("Ready", '.status.conditions[?(@.type=="Ready")].status')
_IN_SYNC = PrinterColumn("InSync", '.status.conditions[?(@.type=="InSync")].status')
_REASON = PrinterColumn("Reason", '.status.conditions[?(@.type=="Ready")].reason', shown=False)
_AGE = PrinterColumn("Age", ".metadata.creationTimestamp", "date")
_REGISTRY = PrinterColumn("Registry", ".spec.registry", shown=False)
_PULSAR_NAMESPACE = PrinterColumn("Pulsar-Namespace", ".spec.pulsarNamespace")

_PRESENTATIONS = (
    Presentation(
        kind=kinds.TOPIC_SCHEMA,
        resource=TopicSchema,
        singular="topicschema",
        short_name="tsc",
        categories=_FOR_USERS,
        columns=(
            _READY,
            PrinterColumn("Version", ".status.schemaVersion", "integer"),
            PrinterColumn("Latest", ".status.latestSchemaVersion", "integer"),
            PrinterColumn("Type", ".spec.type"),
            PrinterColumn("Strategy", ".status.effectiveStrategy.value"),
            _IN_SYNC,
            PrinterColumn("Validated", '.status.conditions[?(@.type=="Validated")].status'),
            _REASON,
            PrinterColumn("Topic", ".spec.topic", shown=False),
            _AGE,
        ),
        selectable=(".spec.topic",),
        has_status=True,
    ),
    Presentation(
        kind=kinds.NAMESPACE_SCHEMA_POLICY,
        resource=NamespaceSchemaPolicy,
        singular="namespaceschemapolicy",
        short_name="nsp",
        categories=_FOR_USERS,
        columns=(
            _READY,
            _PULSAR_NAMESPACE,
            PrinterColumn("Strategy", ".spec.schemaCompatibilityStrategy"),
            _IN_SYNC,
            PrinterColumn("Topics", ".status.topics.total", "integer"),
            _REASON,
            PrinterColumn("Incompatible", ".status.topics.incompatible", "integer", shown=False),
            _REGISTRY,
            _AGE,
        ),
        selectable=(".spec.pulsarNamespace",),
        has_status=True,
    ),
    Presentation(
        kind=kinds.SCHEMA_REGISTRY,
        resource=SchemaRegistry,
        singular="schemaregistry",
        short_name="sreg",
        categories=_FOR_USERS,
        columns=(
            _READY,
            PrinterColumn("Reachable", '.status.conditions[?(@.type=="Reachable")].status'),
            PrinterColumn("Version", ".status.observed.version"),
            _REASON,
            PrinterColumn("Address", ".spec.pulsar.adminURL", shown=False),
            _AGE,
        ),
        has_status=True,
    ),
    Presentation(
        kind=kinds.SCHEMA_HISTORY,
        resource=SchemaHistory,
        singular="schemahistory",
        short_name="sh",
        categories=_FOR_ADMINISTRATORS,
        columns=(
            _PULSAR_NAMESPACE,
            PrinterColumn("Topic", ".spec.localName"),
            PrinterColumn("Latest", ".spec.latestSchemaVersion", "integer"),
            PrinterColumn("Claimed-In", ".spec.claim.namespace"),
            PrinterColumn("Claimed-By", ".spec.claim.name"),
            PrinterColumn("Incarnation", ".spec.incarnation", "integer", shown=False),
            _REGISTRY,
            _AGE,
        ),
    ),
    Presentation(
        kind=kinds.SCHEMA_VERSION,
        resource=SchemaVersion,
        singular="schemaversion",
        short_name="sv",
        categories=_FOR_ADMINISTRATORS,
        columns=(
            PrinterColumn("History", ".spec.history"),
            PrinterColumn("Incarnation", ".spec.incarnation", "integer"),
            PrinterColumn("Version", ".spec.schemaVersion", "integer"),
            PrinterColumn("Type", ".spec.type"),
            _AGE,
        ),
    ),
    Presentation(
        kind=kinds.PULSAR_NAMESPACE_CLAIM,
        resource=PulsarNamespaceClaim,
        singular="pulsarnamespaceclaim",
        short_name="pnc",
        categories=_FOR_ADMINISTRATORS,
        columns=(
            _PULSAR_NAMESPACE,
            PrinterColumn("Held-In", ".spec.owner.namespace"),
            PrinterColumn("Held-By", ".spec.owner.name"),
            _REGISTRY,
            _AGE,
        ),
    ),
)


def documents() -> dict[str, dict[str, Any]]:
    """Return the CRDs by the names of their files."""
    return {f"{each.kind.group}_{each.kind.plural}.yaml": _document(each) for each in _PRESENTATIONS}


def _document(presentation: Presentation) -> dict[str, Any]:
    kind = presentation.kind
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": kind.crd_name},
        "spec": {
            "group": kind.group,
            "names": {
                "kind": kind.name,
                "listKind": f"{kind.name}List",
                "plural": kind.plural,
                "singular": presentation.singular,
                "shortNames": [presentation.short_name],
                "categories": list(presentation.categories),
            },
            "scope": "Namespaced" if kind.is_namespaced else "Cluster",
            "versions": [_version(presentation)],
        },
    }


def _version(presentation: Presentation) -> dict[str, Any]:
    version: dict[str, Any] = {"name": presentation.kind.version, "served": True, "storage": True}
    if presentation.has_status:
        version["subresources"] = {"status": {}}
    if presentation.selectable:
        version["selectableFields"] = [{"jsonPath": path} for path in presentation.selectable]
    version["additionalPrinterColumns"] = [column.document() for column in presentation.columns]
    return version | {"schema": {"openAPIV3Schema": root_schema(presentation.resource)}}


def texts() -> dict[str, str]:
    """Return the content of the committed files, by name."""
    return {
        name: _HEADER + yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=120, allow_unicode=True)
        for name, document in documents().items()
    }


class _Dumper(yaml.SafeDumper):
    """YAML dumper that repeats shared values and writes no anchors, which a reader would have to follow."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML's signature
        return True


def main(arguments: Sequence[str]) -> int:
    """Write the CRDs into the folder, or compare them with --check.

    Return 1 if a file differs from the generated text.
    """
    folder = Path(arguments[-1])
    stale = [folder / name for name, text in texts().items() if not _is_written(folder / name, text)]
    if "--check" not in arguments:
        folder.mkdir(parents=True, exist_ok=True)
        for path in stale:
            path.write_text(texts()[path.name], encoding="utf-8")
        return 0
    sys.stderr.writelines(f"{path} is stale: make generate\n" for path in stale)
    return 1 if stale else 0


def _is_written(path: Path, text: str) -> bool:
    return path.exists() and path.read_text(encoding="utf-8") == text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
