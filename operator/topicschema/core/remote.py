"""The state of a broker as values: versions of a schema, and the settings of a namespace, a topic and the broker.

`broker` reads and writes them. In a write, None leaves a setting as it is. The strategy UNDEFINED unsets it, and a read
then returns None.
"""

from dataclasses import dataclass
from enum import StrEnum

from topicschema.core.schemas import SchemaInfo
from topicschema.core.strategies import Strategy


class Setting(StrEnum):
    """The settings of schemas that a namespace or a topic may have, by the names of the resources' fields."""

    STRATEGY = "schemaCompatibilityStrategy"
    AUTO_UPDATE = "isAllowAutoUpdateSchema"
    REPLICATORS = "isAllowAutoUpdateSchemaWithReplicator"
    ENFORCEMENT = "schemaValidationEnforced"


@dataclass(frozen=True, slots=True)
class RemoteVersion:
    """One version of a topic's schema from the broker. `registered_at` is RFC 3339 UTC with seconds."""

    schema_version: int
    info: SchemaInfo
    registered_at: str


@dataclass(frozen=True, slots=True)
class ListedTopic:
    """A topic in a listing of its Pulsar namespace. `domain` is `persistent` or `non-persistent`."""

    local_name: str
    domain: str = "persistent"
    is_partitioned: bool = False


@dataclass(frozen=True, slots=True)
class Producer:
    """A producer that is connected to a topic. `address` is that of its client; unknown values are empty."""

    name: str
    client_version: str = ""
    address: str = ""


@dataclass(frozen=True, slots=True)
class NamespaceSettings:
    """The settings of a Pulsar namespace. None means not set.

    `auto_update_strategy` is Pulsar's older name of a strategy (`Full`, `AutoUpdateDisabled`). The operator reads it
    and never writes it, nor the names of the clusters that share the namespace's messages. `allows_replicators` is
    whether replicators may add schemas under a lock; brokers before 5.0 do not have it.
    """

    strategy: Strategy | None = None
    auto_update_strategy: str | None = None
    allows_auto_update: bool | None = None
    enforces_validation: bool | None = None
    allows_replicators: bool | None = None
    replication_clusters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TopicSettings:
    """The topic's own settings. None means not set. Its enforcement cannot be unset, only changed."""

    strategy: Strategy | None = None
    enforces_validation: bool | None = None


@dataclass(frozen=True, slots=True)
class BrokerSettings:
    """The broker's defaults. None means that the broker does not report it."""

    strategy: Strategy | None = None
    allows_auto_update: bool | None = None
    enforces_validation: bool | None = None
