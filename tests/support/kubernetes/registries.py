"""SchemaRegistries for tests."""

from typing import Any

from topicschema.api import API_VERSION, GROUP

Object = dict[str, Any]

ALLOW_ALL = [
    {
        "namespaceSelector": {"matchExpressions": [{"key": "topicschema.io/no-tenant", "operator": "DoesNotExist"}]},
        "pulsarNamespaces": ["*/*"],
    }
]
"""Every Kubernetes namespace may govern every Pulsar namespace."""


def registry(name: str = "pulsar", pulsar: Object | None = None, **spec: Any) -> Object:
    """Return a SchemaRegistry that allows all namespaces, with that field `pulsar`, or the operator's own store."""
    members = {"allowedNamespaces": ALLOW_ALL, **({} if pulsar is None else {"pulsar": pulsar}), **spec}
    return {
        "apiVersion": f"{GROUP}/{API_VERSION}",
        "kind": "SchemaRegistry",
        "metadata": {"name": name},
        "spec": members,
    }


def observed(address: str, version: str = "4.0.7") -> Object:
    """Return the status of a registry whose broker at HOST:PORT reported that version."""
    return {"observedGeneration": 1, "observed": {"version": version, "address": address, "settings": {}}}
