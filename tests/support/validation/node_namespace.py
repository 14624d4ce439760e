"""A namespace on a real node whose topic has messages at a real broker: real Jobs validate them.

Actions of users and waiting are done by kubectl.
"""

import base64
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

from support.kubernetes.pods import Pods
from support.kubernetes.registries import registry
from support.pulsar.rest_topic import RestTopic
from support.sizes import sized
from support.validation.executor_runs import ExecutedRuns
from support.validation.topic_filling import Message, fill
from support.validation.topic_messages import RetainedTopic
from support.validation.topic_orders import WRITTEN
from testbed.errors import TestbedError
from testbed.product import NAMESPACE as SYSTEM
from testbed.product import VALIDATION
from testbed.pulsar import Pulsar
from testbed.pulsar_setup import Credentials
from testbed.tokens import ORDINARY
from topicschema.validation.job.manifest import NAMESPACE_LABEL

Object = dict[str, Any]

MESSAGES: Final = int(os.environ.get("TOPICSCHEMA_TEST_MESSAGES") or sized(20_000, 2_000_000))
"""The number of messages that a gate validates."""
SUPERUSERS: Final = "superuser"
READERS: Final = "reader"
"""The names of the Secrets with the operator's token and with that of its pods end with these."""
_SECONDS: Final = 240
_SMALL: Final = {"resources": {"requests": {"cpu": "100m", "memory": "512Mi"}, "limits": {"memory": "2Gi"}}}
"""The resources of a run's pod: beside kind, two cores are too few for the default."""
_RESOURCE = "topicschemas.topicschema.io"
_POLICY = "namespaceschemapolicies.topicschema.io/orders"


@dataclass(frozen=True, slots=True)
class RetainedShop:
    """The namespace, and the topic `created` of a Pulsar namespace of its own.

    `reader_token` is the token of its pods at a broker that requires one; "" for that of a role that may read.
    """

    pods: Pods
    broker: Pulsar
    topic: RetainedTopic
    reader_token: str = ""

    @property
    def rest(self) -> RestTopic:
        """The topic's schemas at the broker."""
        return RestTopic(self.broker, self.topic.namespace, self.topic.name)

    @property
    def runs(self) -> Pods:
        """The pods of all runs, in the validation namespace."""
        return Pods(self.pods.cluster, VALIDATION)

    @property
    def executed(self) -> ExecutedRuns:
        """The runs of this namespace."""
        return ExecutedRuns(self.runs, self.pods.namespace)

    @property
    def executed_by_spark(self) -> ExecutedRuns:
        """The runs of this namespace that have executors."""
        return replace(self.executed, image="spark")

    def govern(
        self,
        mode: str,
        pulsar: Mapping[str, str] | None = None,
        template: Mapping[str, Any] | None = None,
        executors: int = 0,
        **validation: Any,
    ) -> None:
        """Apply a registry of this namespace's name and a policy that validates. Wait until the policy is Active.

        `pulsar` are fields of the registry's spec.pulsar, and `template` is its podTemplate. Runs have that number of
        executors.
        """
        self.apply_registry(pulsar, template, executors)
        self.apply_policy(
            isAllowAutoUpdateSchema=False,
            unmanagedTopics={"exempt": ["*"]},
            schemaCompatibilityStrategy="BACKWARD",
            validation={"mode": mode, "source": {"pulsar": {}}, **validation},
        )

    def apply_registry(
        self,
        pulsar: Mapping[str, str] | None = None,
        template: Mapping[str, Any] | None = None,
        executors: int = 0,
        **validation: Any,
    ) -> None:
        """Apply the registry and its Secrets; see `govern`. `validation` are further fields of its spec.validation."""
        credentials = self.broker.credentials
        own, reader = ({}, {}) if credentials is None else self._apply_credentials(credentials)
        connection = {"adminURL": self.broker.admin_url, "serviceURL": self.broker.service_url, **own, **(pulsar or {})}
        runs = {"podTemplate": template or _SMALL, "maxExecutors": executors, **reader, **validation}
        self._apply(registry(self.pods.namespace, connection, validation=runs))

    def apply_policy(self, *, reason: str = "Active", **spec: Any) -> None:
        """Apply the policy with these fields. Wait until this generation is Ready for that reason."""
        fixed = {"registry": self.pods.namespace, "pulsarNamespace": self.topic.namespace}
        self.pods.apply(_object("NamespaceSchemaPolicy", "orders", {**fixed, **spec}))
        generation = self._get(_POLICY)["metadata"]["generation"]
        self._wait(_POLICY, _condition("Ready", "observedGeneration"), str(generation), 240)
        self._wait(_POLICY, _condition("Ready", "reason"), reason, 240)

    def remove(self) -> None:
        """Delete namespace and registry, without waiting."""
        self.pods.cluster.kubectl("delete", "namespace", self.pods.namespace, "--wait=false")
        self.remove_registry()

    def remove_registry(self) -> None:
        self.pods.cluster.kubectl("delete", "schemaregistry", self.pods.namespace, "--ignore-not-found")

    def _apply_credentials(self, credentials: Credentials) -> tuple[Object, Object]:
        """Apply the Secrets of superuser and reader, each in its namespace. Return the registry's fields with them."""
        self.broker.call("POST", f"/namespaces/{self.topic.namespace}/permissions/{ORDINARY}", ["consume"])
        ca = credentials.ca.read_text("ascii")
        self._apply_secret(SYSTEM, SUPERUSERS, {"token": credentials.tokens.superuser, "ca.crt": ca})
        self._apply_secret(VALIDATION, READERS, {"token": self.reader_token or credentials.tokens.ordinary})
        trusted = {"tls": {"caSecretRef": {"name": self.secret(SUPERUSERS), "key": "ca.crt"}}}
        return self._by_token(SUPERUSERS) | trusted, self._by_token(READERS)

    def secret(self, name: str) -> str:
        """Return the name of that Secret of this namespace."""
        return f"{self.pods.namespace}-{name}"

    def _by_token(self, secret: str) -> Object:
        return {"authentication": {"token": {"secretRef": {"name": self.secret(secret), "key": "token"}}}}

    def _apply_secret(self, namespace: str, name: str, contents: Mapping[str, str]) -> None:
        data = {key: base64.b64encode(content.encode()).decode() for key, content in contents.items()}
        metadata = {"name": self.secret(name), "namespace": namespace}
        self._apply({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data})

    def _apply(self, wire: Object) -> None:
        """Apply an object that is not in this namespace."""
        self.pods.cluster.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(wire))

    def fill(self, *parts: tuple[list[Message], int]) -> None:
        """Register the producers' schema. Send each part's messages, repeated, in equal shares to partitions."""
        self.rest.upload_version(json.dumps(WRITTEN))
        pulsar = self.broker
        for partition in self._partitions:
            for messages, count in parts:
                if share := _share(count, len(self._partitions), self._partitions.index(partition)):
                    fill(pulsar.service_url, partition, messages, share, pulsar.credentials)

    @contextmanager
    def throttle(self, seconds: int = 300) -> Iterator[None]:
        """Limit the broker's dispatch rate, so that reading all messages of the topic takes at least that long.

        The topic has partitions and its messages. A run over them then lasts as long as a test needs it.
        """
        call, path = self.broker.call, f"/namespaces/{self.topic.namespace}/dispatchRate"
        size = call("GET", f"{self.topic.path}/partitioned-stats")["storageSize"]
        rate = {"dispatchThrottlingRateInByte": max(1, size // self.topic.partitions // seconds)}
        call("POST", path, {"dispatchThrottlingRateInMsg": -1, "ratePeriodInSecond": 1, **rate})
        try:
            yield
        finally:
            call("DELETE", path)

    @property
    def _partitions(self) -> list[str]:
        whole, count = self.topic.full_name, self.topic.partitions
        return [f"{whole}-partition-{number}" for number in range(count)] if count else [whole]

    def audited(self, reason: str, seconds: int = _SECONDS) -> Object:
        """Return the policy's status once its condition Audited has that reason."""
        self._wait(_POLICY, _condition("Audited", "reason"), reason, seconds)
        status: Object = self._get(_POLICY)["status"]
        return status

    def propose(self, schema: Mapping[str, Any], **more: Any) -> None:
        """Apply the TopicSchema with that text, and with these further fields."""
        spec = {"topic": self.topic.full_name, "type": "AVRO", "schema": json.dumps(schema), **more}
        self.pods.apply(_object("TopicSchema", self.topic.name, spec))

    def ready(self, reason: str, seconds: int = _SECONDS) -> Object:
        """Return the status once Ready has that reason for the newest generation."""
        self._wait(self._itself, _condition("Ready", "observedGeneration"), str(self._generation), seconds)
        self._wait(self._itself, _condition("Ready", "reason"), reason, seconds)
        return self.status

    def validated(self, phase: str, seconds: int = _SECONDS) -> Object:
        """Return the status once its validation is in that phase."""
        self._wait(self._itself, "{.status.validation.phase}", phase, seconds)
        return self.status

    def wait_for_message(self, condition: str, text: str, seconds: int) -> Object:
        """Return the condition once its message contains the text."""
        deadline = time.monotonic() + seconds
        while text not in (current := conditions(self.status).get(condition, {})).get("message", ""):
            assert time.monotonic() < deadline, current
            time.sleep(1)
        return current

    @property
    def status(self) -> Object:
        status: Object = self._get(self._itself).get("status", {})
        return status

    @property
    def report(self) -> Mapping[str, str]:
        """The members of the report's ConfigMap."""
        members: Mapping[str, str] = self._get("configmap", self.status["validation"]["report"])["data"]
        return members

    @property
    def jobs(self) -> list[Object]:
        selector = f"{NAMESPACE_LABEL}={self.pods.namespace}"
        jobs: list[Object] = self.pods.cluster.get("-n", VALIDATION, "jobs", "-l", selector)["items"]
        return jobs

    def running(self) -> Object:
        """Return the one Job once its pod runs."""
        driver = self.executed.driver()
        self._wait_for(f"pod/{driver}", "--for=jsonpath={.status.phase}=Running", namespace=VALIDATION)
        (job,) = self.jobs
        return job

    def gone(self, job: Object) -> None:
        """Return once the Job, its pods and its request are gone."""
        name = job["metadata"]["name"]
        for what in ((f"job/{name}",), (f"configmap/{name}-0",), ("pod", "-l", f"job-name={name}")):
            self._wait_for(*what, "--for=delete", namespace=VALIDATION)

    @property
    def broker_topics(self) -> list[str]:
        topics: list[str] = self.broker.call("GET", f"/persistent/{self.topic.namespace}")
        return topics

    @property
    def _itself(self) -> str:
        return f"{_RESOURCE}/{self.topic.name}"

    @property
    def _generation(self) -> int:
        return int(self._get(self._itself)["metadata"]["generation"])

    def _wait_for(self, *what: str, seconds: int = _SECONDS, namespace: str = "") -> None:
        place = ("-n", namespace or self.pods.namespace)
        self.pods.cluster.kubectl("wait", *place, *what, f"--timeout={seconds}s", seconds=seconds + 10)

    def _wait(self, what: str, path: str, value: str, seconds: int) -> None:
        try:
            self._wait_for(what, f"--for=jsonpath={path}={value}", seconds=seconds)
        except TestbedError as error:
            raise AssertionError(f"{error}\n{json.dumps(self._get(what).get('status'))[:3000]}") from None

    def _get(self, *what: str) -> Object:
        return self.pods.cluster.get("-n", self.pods.namespace, *what)


def conditions(status: Mapping[str, Any]) -> dict[str, Object]:
    return {condition["type"]: condition for condition in status.get("conditions", ())}


def _condition(kind: str, member: str) -> str:
    return f'{{.status.conditions[?(@.type=="{kind}")].{member}}}'


def _share(count: int, of: int, number: int) -> int:
    return count // of + (number < count % of)


def _object(kind: str, name: str, spec: Object) -> Object:
    return {"apiVersion": "topicschema.io/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}
