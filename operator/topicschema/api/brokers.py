"""The operator's access to a broker in policies and topics, and the settings observed there."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from topicschema.api.schema_fields import Field
from topicschema.core.strategies import Strategy


class ManagementPolicy(StrEnum):
    """The operator's access to the broker. Manage is the default."""

    MANAGE = "Manage"
    OBSERVE = "Observe"


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedBroker:
    """The broker's own settings; unset if the broker does not report them."""

    schema_compatibility_strategy: Annotated[
        Strategy | None, Field("The broker's own schema compatibility strategy.")
    ] = None
    is_allow_auto_update_schema: Annotated[
        bool | None, Field("If true, clients may add schemas in Pulsar namespaces without this setting.")
    ] = None
    schema_validation_enforced: Annotated[
        bool | None, Field("If true, producers need a schema in all namespaces, whatever their settings.")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedSettings:
    """The settings of the Pulsar namespace and the broker; unset if nothing is set."""

    schema_compatibility_strategy: Annotated[
        Strategy | None, Field("Schema compatibility strategy of the Pulsar namespace.")
    ] = None
    schema_auto_update_compatibility_strategy: Annotated[
        str | None,
        Field(
            "Pulsar's deprecated setting, by its own names (Full, AutoUpdateDisabled). It applies if "
            "there is no schema compatibility strategy.",
            max_length=64,
        ),
    ] = None
    is_allow_auto_update_schema: Annotated[
        bool | None, Field("If true, clients may add schemas to topics of the Pulsar namespace.")
    ] = None
    schema_validation_enforced: Annotated[
        bool | None, Field("If true, producers need a schema on topics with a schema.")
    ] = None
    is_allow_auto_update_schema_with_replicator: Annotated[
        bool | None, Field("If false, replicators may not add schemas either. Brokers before 5.0 do not have it.")
    ] = None
    replication_clusters: Annotated[
        tuple[Annotated[str, Field(max_length=256)], ...] | None,
        Field("The first 20 clusters that replicate the Pulsar namespace, with the broker's own.", max_items=20),
    ] = None
    broker: Annotated[ObservedBroker | None, Field("The broker's own settings.")] = None
    address: Annotated[
        str | None,
        Field(
            "HOST:PORT of the broker with these settings. They apply as long as the policy names this broker.",
            max_length=512,
        ),
    ] = None
