"""A Git repository of manifests, like that of a team."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

POLICY = {
    "pulsarCluster": "prod",
    "pulsarNamespace": "shop/orders",
    "schemaCompatibilityStrategy": "BACKWARD_TRANSITIVE",
}
UNJUDGED: tuple[dict[str, Any], ...] = ({"suspend": True}, {"deletionPolicy": "Delete"})
"""Edits of a TopicSchema's spec that need no judgment."""
_ENVIRONMENT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{role}_{field}": "a@example.com" for role in ("AUTHOR", "COMMITTER") for field in ("NAME", "EMAIL")},
    **{f"GIT_{role}_DATE": "2026-01-01T00:00:00Z" for role in ("AUTHOR", "COMMITTER")},
}


def fields(*names: str) -> str:
    """Return a record: `id` is a long, `note=` a string with a default, `id:int` an int."""
    members = []
    for each in names:
        name, _, kind = each.rstrip("=").partition(":")
        default = {"default": ""} if each.endswith("=") else {}
        members.append({"name": name, "type": kind or ("string" if default else "long"), **default})
    return json.dumps({"type": "record", "name": "Order", "fields": members})


def policy(name: str = "orders", namespace: str = "shop", **spec: Any) -> dict[str, Any]:
    """Return a NamespaceSchemaPolicy of shop/orders."""
    metadata = {"name": name, "namespace": namespace}
    return {**_typed("NamespaceSchemaPolicy"), "metadata": metadata, "spec": {**POLICY, **spec}}


def topic(schema: str, name: str = "created", namespace: str = "shop", **spec: Any) -> dict[str, Any]:
    """Return a TopicSchema of that Pulsar namespace. Its topic has its name unless the spec has another."""
    members = {"topic": f"persistent://shop/orders/{name}", "type": "AVRO", "schema": schema, **spec}
    return {**_typed("TopicSchema"), "metadata": {"name": name, "namespace": namespace}, "spec": members}


def _typed(kind: str) -> dict[str, Any]:
    return {"apiVersion": "topicschema.io/v1alpha1", "kind": kind}


def in_yaml(*resources: dict[str, Any]) -> str:
    """Return the resources as YAML documents. JSON is YAML, and a schema's text is a literal block."""
    documents = []
    for each in resources:
        spec = dict(each["spec"])
        text = spec.pop("schema", None)
        lines = [f"{name}: {json.dumps(each[name])}" for name in ("apiVersion", "kind", "metadata")]
        lines += ["spec:", *(f"  {name}: {json.dumps(member)}" for name, member in spec.items())]
        if text is not None:
            lines += ["  schema: |", *(f"    {line}" for line in text.splitlines())]
        documents.append("\n".join(lines) + "\n")
    return "---\n".join(documents)


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository in a folder, on its branch main."""

    root: Path

    @classmethod
    def create(cls, root: Path) -> "Repository":
        root.mkdir(parents=True, exist_ok=True)
        repository = cls(root)
        repository.git("init", "--quiet", "--initial-branch=main", ".")
        return repository

    def git(self, *arguments: str) -> str:
        """Run git and return its output."""
        environment = {**os.environ, **_ENVIRONMENT}
        result = subprocess.run(
            ["git", *arguments],  # noqa: S607
            cwd=self.root,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return result.stdout

    def write(self, file: str, *resources: dict[str, Any]) -> None:
        """Write the resources into the file; without any, remove it."""
        path = self.root / file
        if not resources:
            path.unlink()
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(in_yaml(*resources))

    def commit(self) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "A change")
