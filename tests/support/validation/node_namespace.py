"""A namespace on a real node whose topic has messages at a real broker: real Jobs are asked about them.

What users do is done by kubectl, and waiting, too: it watches.
"""

import base64
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from support.kubernetes.pods import Pods
from support.pulsar.rest_topic import RestTopic
from support.sizes import sized
from support.validation.executor_runs import ExecutedRuns
from support.validation.topic_filling import Message, fill
from support.validation.topic_messages import RetainedTopic
from testbed.errors import TestbedError
from testbed.pulsar import Pulsar
from testbed.pulsar_setup import Credentials
from testbed.tokens import ORDINARY

Object = dict[str, Any]

MESSAGES: Final = int(os.environ.get("TOPICSCHEMA_TEST_MESSAGES") or sized(20_000, 2_000_000))
"""The number of messages that a gate judges."""
SUPERUSERS: Final = "superusers-token"
READERS: Final = "readers-token"
"""The Secrets with the operator's token and with that of its pods."""
_SECONDS: Final = 240
_SMALL: Final = {"resources": {"requests": {"cpu": "100m", "memory": "512Mi"}, "limits": {"memory": "2Gi"}}}
"""Of a run's pod: two cores have no room for the default beside what kind runs."""
_CLAIMS = "topicschema.io/pulsar-namespaces"
_RESOURCE = "topicschemas.topicschema.io"


@dataclass(frozen=True, slots=True)
class RetainedShop:
    """The namespace, and the topic `created` of a Pulsar namespace of its own.

    `reader_token` is what its pods show a broker that asks for a token; "" for one that may read the topic.
    """

    pods: Pods
    broker: Pulsar
    topic: RetainedTopic
    reader_token: str = ""

    @property
    def rest(self) -> RestTopic:
        """The topic's schemas at the broker."""
        return RestTopic(self.broker, self.topic.namespace, self.topic.name)

    def govern(self, mode: str, pulsar: Mapping[str, str] | None = None, **validation: Any) -> None:
        """Leave to claim, and a policy in force that validates; `pulsar` is of its spec.pulsar."""
        self.pods.cluster.kubectl("annotate", "namespace", self.pods.namespace, f"{_CLAIMS}={self.topic.namespace}")
        credentials = self.broker.credentials
        shown, reader = ({}, {}) if credentials is None else self._introduced(credentials)
        reached = {"adminURL": self.broker.admin_url, "serviceURL": self.broker.service_url, **shown, **(pulsar or {})}
        spec = {
            "pulsarCluster": "pulsar",
            "pulsarNamespace": self.topic.namespace,
            "isAllowAutoUpdateSchema": False,
            "lockUndeclared": True,
            "schemaCompatibilityStrategy": "BACKWARD",
            "pulsar": reached,
            "validation": {"mode": mode, "source": {"pulsar": {}}, "template": _SMALL, **reader, **validation},
        }
        self.pods.apply(_object("NamespaceSchemaPolicy", "orders", spec))
        self._wait("namespaceschemapolicies.topicschema.io/orders", _condition("Ready", "reason"), "Active", 240)

    def _introduced(self, credentials: Credentials) -> tuple[Object, Object]:
        """What spec.pulsar and spec.validation say of who calls: the broker's superuser, and who may only consume."""
        self.broker.tell("POST", f"/namespaces/{self.topic.namespace}/permissions/{ORDINARY}", ["consume"])
        self._keep(SUPERUSERS, "token", credentials.tokens.superuser)
        self._keep(READERS, "token", self.reader_token or credentials.tokens.ordinary)
        self._keep("trusted", "ca.crt", credentials.ca.read_text("ascii"))
        trusted = {"tls": {"caSecretKeyRef": {"name": "trusted", "key": "ca.crt"}}}
        return _by_token(SUPERUSERS) | trusted, _by_token(READERS)

    def _keep(self, name: str, key: str, content: str) -> None:
        data = {key: base64.b64encode(content.encode()).decode()}
        self.pods.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": data})

    def fill(self, *parts: tuple[list[Message], int]) -> None:
        """Send to each partition its share of so many messages of each part, over and over."""
        pulsar = self.broker
        for partition in self._partitions:
            for messages, count in parts:
                if share := _share(count, len(self._partitions), self._partitions.index(partition)):
                    fill(pulsar.service_url, partition, messages, share, pulsar.credentials)

    @contextmanager
    def paced(self, seconds: int = 300) -> Iterator[None]:
        """While it lasts the broker hands out the topic's messages so that all of them take at least that long.

        The topic has partitions and its messages; a run over them is then under way for as long as a test needs it.
        """
        tell, place = self.broker.tell, f"/namespaces/{self.topic.namespace}/dispatchRate"
        size = tell("GET", f"{self.topic.path}/partitioned-stats")["storageSize"]
        rate = {"dispatchThrottlingRateInByte": max(1, size // self.topic.partitions // seconds)}
        tell("POST", place, {"dispatchThrottlingRateInMsg": -1, "ratePeriodInSecond": 1, **rate})
        try:
            yield
        finally:
            tell("DELETE", place)

    @property
    def _partitions(self) -> list[str]:
        whole, count = self.topic.full_name, self.topic.partitions
        return [f"{whole}-partition-{number}" for number in range(count)] if count else [whole]

    def propose(self, schema: Mapping[str, Any]) -> None:
        """Apply the TopicSchema with that text."""
        spec = {"topic": self.topic.full_name, "type": "AVRO", "schema": json.dumps(schema)}
        self.pods.apply(_object("TopicSchema", self.topic.name, spec))

    def ready(self, reason: str, seconds: int = _SECONDS) -> Object:
        """The status once Ready has that reason for what was proposed last."""
        self._wait(self._itself, _condition("Ready", "observedGeneration"), str(self._generation), seconds)
        self._wait(self._itself, _condition("Ready", "reason"), reason, seconds)
        return self.status

    def validated(self, phase: str, seconds: int = _SECONDS) -> Object:
        """The status once its validation is in that phase."""
        self._wait(self._itself, "{.status.validation.phase}", phase, seconds)
        return self.status

    def says(self, condition: str, words: str, seconds: int) -> Object:
        """The condition once its message has these words."""
        deadline = time.monotonic() + seconds
        while words not in (found := conditions(self.status).get(condition, {})).get("message", ""):
            assert time.monotonic() < deadline, found
            time.sleep(1)
        return found

    @property
    def status(self) -> Object:
        """The status as it is."""
        found: Object = self._get(self._itself).get("status", {})
        return found

    @property
    def report(self) -> Mapping[str, str]:
        """The members of the report's ConfigMap."""
        found: Mapping[str, str] = self._get("configmap", self.status["validation"]["report"])["data"]
        return found

    @property
    def jobs(self) -> list[Object]:
        """The Jobs of the namespace."""
        found: list[Object] = self._get("jobs")["items"]
        return found

    def running(self) -> Object:
        """The one Job, once its pod runs."""
        driver = ExecutedRuns(self.pods).driver()
        self._wait_for(f"pod/{driver}", "--for=jsonpath={.status.phase}=Running")
        (job,) = self.jobs
        return job

    def gone(self, job: Object) -> None:
        """Return once the Job is gone, and with it its pods and its question."""
        name = job["metadata"]["name"]
        self._wait_for(f"job/{name}", "--for=delete")
        self._wait_for(f"configmap/{name}-0", "--for=delete")
        self._wait_for("pod", "-l", f"job-name={name}", "--for=delete")

    @property
    def names_at_the_broker(self) -> list[str]:
        """All topics of the Pulsar namespace."""
        found: list[str] = self.broker.tell("GET", f"/persistent/{self.topic.namespace}")
        return found

    @property
    def _itself(self) -> str:
        return f"{_RESOURCE}/{self.topic.name}"

    @property
    def _generation(self) -> int:
        return int(self._get(self._itself)["metadata"]["generation"])

    def _wait_for(self, *what: str, seconds: int = _SECONDS) -> None:
        self._kubectl("wait", *what, f"--timeout={seconds}s", seconds=seconds + 10)

    def _wait(self, what: str, path: str, value: str, seconds: int) -> None:
        try:
            self._wait_for(what, f"--for=jsonpath={path}={value}", seconds=seconds)
        except TestbedError as error:
            raise AssertionError(f"{error}\n{json.dumps(self._get(what).get('status'))[:3000]}") from None

    def _get(self, *what: str) -> Object:
        return self.pods.cluster.get("-n", self.pods.namespace, *what)

    def _kubectl(self, *arguments: str, seconds: float = 60) -> str:
        return self.pods.cluster.kubectl("-n", self.pods.namespace, *arguments, seconds=seconds)


def conditions(status: Mapping[str, Any]) -> dict[str, Object]:
    """The conditions by type."""
    return {condition["type"]: condition for condition in status.get("conditions", ())}


def _condition(kind: str, member: str) -> str:
    return f'{{.status.conditions[?(@.type=="{kind}")].{member}}}'


def _by_token(secret: str) -> Object:
    return {"authentication": {"token": {"secretKeyRef": {"name": secret, "key": "token"}}}}


def _share(count: int, of: int, number: int) -> int:
    return count // of + (number < count % of)


def _object(kind: str, name: str, spec: Object) -> Object:
    return {"apiVersion": "topicschema.io/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}
