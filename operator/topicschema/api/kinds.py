"""The kinds of Kubernetes objects that the product uses, as addresses. Their contents are in their own modules."""

from dataclasses import dataclass
from typing import Any

from topicschema.api import API_VERSION, GROUP

Object = dict[str, Any]
"""A Kubernetes object as parsed JSON."""


@dataclass(frozen=True, slots=True)
class Kind:
    """The API address of the objects of one kind. `group` is empty for the core API."""

    group: str
    version: str
    plural: str
    name: str
    is_namespaced: bool = True

    @property
    def api_version(self) -> str:
        """The object's `apiVersion`, for instance `topicschema.io/v1alpha1`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def crd_name(self) -> str:
        """The name of the CRD of a custom resource, for instance `topicschemas.topicschema.io`."""
        return f"{self.plural}.{self.group}"


TOPIC_SCHEMA = Kind(GROUP, API_VERSION, "topicschemas", "TopicSchema")
NAMESPACE_SCHEMA_POLICY = Kind(GROUP, API_VERSION, "namespaceschemapolicies", "NamespaceSchemaPolicy")
SCHEMA_REGISTRY = Kind(GROUP, API_VERSION, "schemaregistries", "SchemaRegistry", is_namespaced=False)
SCHEMA_HISTORY = Kind(GROUP, API_VERSION, "schemahistories", "SchemaHistory")
SCHEMA_VERSION = Kind(GROUP, API_VERSION, "schemaversions", "SchemaVersion")
PULSAR_NAMESPACE_CLAIM = Kind(GROUP, API_VERSION, "pulsarnamespaceclaims", "PulsarNamespaceClaim")
NAMESPACE = Kind("", "v1", "namespaces", "Namespace", is_namespaced=False)
CUSTOM_RESOURCE_DEFINITION = Kind(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", is_namespaced=False
)
SECRET = Kind("", "v1", "secrets", "Secret")
LEASE = Kind("coordination.k8s.io", "v1", "leases", "Lease")
EVENT = Kind("events.k8s.io", "v1", "events", "Event")
CRON_JOB = Kind("batch", "v1", "cronjobs", "CronJob")
JOB = Kind("batch", "v1", "jobs", "Job")
POD = Kind("", "v1", "pods", "Pod")
CONFIG_MAP = Kind("", "v1", "configmaps", "ConfigMap")
OLD_EVENT = Kind("", "v1", "events", "Event")
"""Events as Kubernetes' own controllers write them. Only these can be selected by their object."""
