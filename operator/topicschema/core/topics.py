"""Topic names, in the one spelling that the product accepts.

Pulsar accepts many spellings of one topic and stores the schemas of all of them under one id. A resource names a topic
in exactly one way, so that no two resources can have the same topic unnoticed.
"""

import re
from dataclasses import dataclass
from typing import Self
from urllib.parse import unquote

from topicschema.core.errors import StalledError
from topicschema.core.reasons import Reason

_TOPIC = re.compile(r"(?P<domain>persistent|non-persistent)://(?P<tenant>[^/]+)/(?P<namespace>[^/]+)/(?P<local>[^/]+)")
# NamespaceName.validateNamespaceName -> NamedEntity: [-=:.\w]
_ENTITY = re.compile(r"[-=:.\w]+", re.ASCII)
# In the path of a URL they would lead elsewhere: no client of a broker's REST API sends them.
_DOTS = (".", "..")
_PARTITION = re.compile(r"-partition-\d+$")
# TopicName.getPartitionIndex: a Java int without leading zeros.
_INDEX = re.compile(r"-partition-(0|[1-9][0-9]{0,9})\Z", re.ASCII)
_MAX_INDEX = 2**31 - 1
_MAX_LOCAL_NAME = 512
_LOSES = "Pulsar 5.0.0-M1 deletes its schemas when it removes one of its segments"
# Source: Pulsar's SystemTopicNames.
_SYSTEM = re.compile(
    r"__change_events|__transaction_buffer_snapshot(_segments|_indexes)?|__transaction_pending_ack"
    r"|__transaction_log_\d*|transaction_coordinator_assign|.*__transaction_pending_ack"
)


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic by its parts. `local_name` is decoded.

    The domain is not a part: `persistent://t/n/x` and `non-persistent://t/n/x` share one schema history in Pulsar.
    """

    tenant: str
    namespace: str
    local_name: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the topic of `text`. Raises StalledError(InvalidTopic) if it is not the one accepted spelling."""
        if text.startswith("topic://"):
            raise StalledError(
                Reason.INVALID_TOPIC, f"{text[:200]!r} is a scalable topic, which is not supported: {_LOSES}"
            )
        match = _TOPIC.fullmatch(text)
        if match is None:
            raise _invalid(text, "it must read persistent://TENANT/NAMESPACE/TOPIC, with exactly these three parts")
        for part in ("tenant", "namespace"):
            if _ENTITY.fullmatch(match[part]) is None:
                raise _invalid(text, f"the {part} may have letters, digits and - = : . _ only")
        if any(part in _DOTS for part in match.groups()):
            raise _invalid(text, "'.' and '..' are no names: no request reaches what is named so")
        why = _flaw_of(match["local"])
        if why is not None:
            raise _invalid(text, why)
        return cls(match["tenant"], match["namespace"], match["local"])

    @property
    def pulsar_namespace(self) -> str:
        """`tenant/namespace`."""
        return f"{self.tenant}/{self.namespace}"

    def __str__(self) -> str:
        """Return `tenant/namespace/topic`, without a domain."""
        return f"{self.tenant}/{self.namespace}/{self.local_name}"


def without_partition(local_name: str) -> str:
    """Return the local name of a partition's topic. Other names stay, for instance `x-partition-01`."""
    match = _INDEX.search(local_name)
    return local_name[: match.start()] if match is not None and int(match[1]) <= _MAX_INDEX else local_name


def is_system_topic(local_name: str) -> bool:
    """Return True if a broker stores its own messages in a topic of this name."""
    return _SYSTEM.fullmatch(local_name) is not None


def matches_glob(glob: str, name: str) -> bool:
    """Return True if the glob matches the whole name. An asterisk matches any text, and nothing else is special."""
    first, *others = glob.split("*")
    if not others:
        return name == first
    *middle, last = others
    if not name.startswith(first) or not name.endswith(last) or len(name) < len(first) + len(last):
        return False
    position, end = len(first), len(name) - len(last)
    for part in middle:
        position = name.find(part, position, end)
        if position < 0:
            return False
        position += len(part)
    return True


def _flaw_of(local: str) -> str | None:
    if any(c.isspace() or not c.isprintable() for c in local):
        return "the topic's own name has a space or a control character"
    if unquote(local) != local:
        return "write the topic's own name decoded, without %XX escapes"
    if _PARTITION.search(local):
        return "name the partitioned topic, without -partition-N; its partitions share one schema history"
    if is_system_topic(local):
        return "Pulsar's brokers keep their own messages in a topic of this name, with a schema of their own"
    if len(local) > _MAX_LOCAL_NAME:
        return f"the topic's own name is longer than {_MAX_LOCAL_NAME} characters"
    return None


def _invalid(text: str, why: str) -> StalledError:
    return StalledError(Reason.INVALID_TOPIC, f"{text[:200]!r} is not a topic name: {why}")


@dataclass(frozen=True, slots=True)
class TopicKey:
    """A topic of one registry: the key of a schema history."""

    registry: str
    topic: Topic

    @property
    def namespace_key(self) -> "PulsarNamespaceKey":
        """The Pulsar namespace of the topic."""
        return PulsarNamespaceKey(self.registry, self.topic.tenant, self.topic.namespace)


@dataclass(frozen=True, slots=True)
class PulsarNamespaceKey:
    """A Pulsar namespace of one registry: the key that one policy may claim."""

    registry: str
    tenant: str
    namespace: str

    @classmethod
    def parse(cls, registry: str, pulsar_namespace: str) -> Self:
        """Return the key of `tenant/namespace`.

        Raises StalledError(InvalidPulsarNamespace) if the text has another form.
        """
        parts = pulsar_namespace.split("/")
        if len(parts) != 2 or not all(map(is_entity, parts)):  # noqa: PLR2004 - tenant and namespace
            raise StalledError(
                Reason.INVALID_PULSAR_NAMESPACE,
                f"{pulsar_namespace[:200]!r} is not a Pulsar namespace: write TENANT/NAMESPACE",
            )
        return cls(registry, *parts)

    @property
    def pulsar_namespace(self) -> str:
        """`tenant/namespace`."""
        return f"{self.tenant}/{self.namespace}"


def is_entity(name: str) -> bool:
    """Return True if a tenant or a namespace may have the name."""
    return _ENTITY.fullmatch(name) is not None and name not in _DOTS
