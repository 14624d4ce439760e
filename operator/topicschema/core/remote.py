"""What a broker has, as values: versions of a schema, and the settings of a namespace, a topic and the broker itself.

Nothing is asked here; `broker` reads and writes them. In what is written, None leaves a setting as it is, and the
strategy UNDEFINED unsets it, which reads as None again.
"""

from dataclasses import dataclass
from enum import StrEnum

from topicschema.core.schemas import SchemaInfo
from topicschema.core.strategies import Strategy


class Setting(StrEnum):
    """The settings of schemas that a namespace or a topic may have, by the names of the resources' fields."""

    STRATEGY = "schemaCompatibilityStrategy"
    AUTO_UPDATE = "isAllowAutoUpdateSchema"
    ENFORCEMENT = "schemaValidationEnforced"


@dataclass(frozen=True, slots=True)
class RemoteVersion:
    """One version of a topic's schema as the broker tells it; `registered_at` is RFC 3339 UTC with seconds."""

    schema_version: int
    info: SchemaInfo
    registered_at: str


@dataclass(frozen=True, slots=True)
class NamespaceSettings:
    """What a Pulsar namespace has; None where nothing is set there.

    `auto_update_strategy` is Pulsar's older name of a strategy (`Full`, `AutoUpdateDisabled`), which is read and never
    written.
    """

    strategy: Strategy | None = None
    auto_update_strategy: str | None = None
    allows_auto_update: bool | None = None
    enforces_validation: bool | None = None


@dataclass(frozen=True, slots=True)
class TopicSettings:
    """What a topic has for itself; None where nothing is set there. Its enforcement cannot be unset, only set anew."""

    strategy: Strategy | None = None
    enforces_validation: bool | None = None


@dataclass(frozen=True, slots=True)
class BrokerSettings:
    """What the broker does where nothing is set; None where it does not tell."""

    strategy: Strategy | None = None
    allows_auto_update: bool | None = None
    enforces_validation: bool | None = None
    version: str | None = None
