"""NamespaceSchemaPolicy: the platform team's rules for all topics of one Pulsar namespace."""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated, ClassVar, Self

from topicschema.api.audits import AuditSpec, AuditStatus
from topicschema.api.brokers import ManagementPolicy, ObservedSettings
from topicschema.api.metadata import CONDITIONS, Condition, Metadata
from topicschema.api.registries import SchemaRegistry
from topicschema.api.schema_fields import (
    IMMUTABLE,
    LENIENT,
    OBSERVED_GENERATION,
    CelRule,
    Field,
    matching,
    not_matching,
)
from topicschema.api.schemas import AVAILABLE_TYPES
from topicschema.api.topicschemas import DeletionPolicy
from topicschema.api.validation import ValidationSpec
from topicschema.core.policy import Strictness
from topicschema.core.schemas import SchemaType
from topicschema.core.strategies import Strategy
from topicschema.core.topics import PulsarNamespaceKey, matches_glob

_DATE = "[0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|[12][0-9]))"
_TIME = "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
_UNTIL = matching(
    f"^{_DATE}(T{_TIME}Z)?$", "write a date or a time in UTC, for instance 2026-12-31 or 2026-12-31T18:00:00Z"
)
_LOCAL_GLOB = matching(r"^[^/\s]+$", "write local names of topics, without tenant and namespace")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExceptionSpec:
    """Strategies that one topic may also set, until a time. It ends by itself."""

    topic: Annotated[
        str,
        Field(
            "The topic's local name, for instance created for persistent://shop/orders/created.",
            max_length=512,
            rules=(matching(r"^[^/\s]+$", "write the topic's local name, without tenant and namespace"),),
        ),
    ]
    allowed_strategies: Annotated[
        tuple[Strategy, ...],
        Field(
            "Strategies that the topic may set, whatever the other constraints say.",
            min_items=1,
            max_items=len(Strategy),
            list_type="set",
        ),
    ]
    until: Annotated[
        str,
        Field(
            "End, in UTC: a time like 2026-12-31T18:00:00Z, or a date, whose day is included. Then the topic's own "
            "strategy counts as unset, and its next edit must satisfy the policy.",
            max_length=20,
            rules=(_UNTIL,),
        ),
    ]
    reason: Annotated[str, Field("Reason, which messages and Events quote.", min_length=1, max_length=256)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstraintsSpec:
    """Limits at admission; an unset field does not limit."""

    allowed_types: Annotated[
        tuple[Annotated[SchemaType, Field(values=AVAILABLE_TYPES)], ...],
        Field("Allowed schema types.", max_items=len(AVAILABLE_TYPES), list_type="set"),
    ] = ()
    allowed_strategies: Annotated[
        tuple[Strategy, ...],
        Field(
            "Strategies that a TopicSchema may set. If unset, each that is not weaker than this policy's, that is, "
            "allows no edit that this policy's refuses.",
            max_items=len(Strategy),
            list_type="set",
        ),
    ] = ()
    required_properties: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=256)], ...],
        Field("Properties that every schema must have, with a value.", max_items=64, list_type="set"),
    ] = ()
    max_schema_bytes: Annotated[int | None, Field("Maximum size of a schema's text, in bytes of UTF-8.", minimum=1)] = (
        None
    )
    may_relax_validation: Annotated[
        bool,
        Field(
            "If true, a TopicSchema may have a lower mode of validation, a larger tolerance or a smaller sample than "
            "this policy. Default: false."
        ),
    ] = False
    allowed_deletion_policies: Annotated[
        tuple[DeletionPolicy, ...],
        Field(
            "Deletion policies that a TopicSchema may have. Default: only Retain, which is always allowed. A resource "
            "that has Delete anyway is deleted as with Retain.",
            max_items=len(DeletionPolicy),
            list_type="set",
        ),
    ] = ()
    exceptions: Annotated[
        tuple[ExceptionSpec, ...],
        Field("Exceptions, at most one for a topic.", max_items=256, list_type="map", list_map_keys=("topic",)),
    ] = ()


class DriftPolicy(StrEnum):
    """The operator's reaction to settings of a Pulsar namespace that differ. Correct is the default."""

    CORRECT = "Correct"
    REPORT = "Report"


class SchemalessTopics(StrEnum):
    """The effect on a lock of topics without a schema at the broker. Ignore is the default."""

    IGNORE = "Ignore"
    BLOCK = "Block"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnmanagedTopicsSpec:
    """The topics without a TopicSchema that a lock does not wait for."""

    exempt: Annotated[
        tuple[Annotated[str, Field(max_length=512, rules=(_LOCAL_GLOB,))], ...],
        Field(
            "Local names of topics as globs, for instance *-DLQ. An asterisk matches any text. With *, the lock waits "
            "for no topic.",
            max_items=64,
            list_type="set",
        ),
    ] = ()
    schemaless: Annotated[
        SchemalessTopics,
        Field(
            "Ignore (default): a topic whose broker never had a schema of it does not delay the lock, because the lock "
            "refuses none of its clients. They connect without a schema. Block: it delays the lock, too."
        ),
    ] = SchemalessTopics.IGNORE

    @property
    def exempts_all(self) -> bool:
        """True if the lock waits for no topic."""
        return "*" in self.exempt

    def exempts(self, local_name: str) -> bool:
        """Return True if a glob matches the topic's local name."""
        return any(matches_glob(glob, local_name) for glob in self.exempt)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceSchemaPolicySpec:
    """The desired state."""

    RULES: ClassVar = (
        CelRule(
            cel="!has(self.isAllowAutoUpdateSchemaWithReplicator) || (has(self.isAllowAutoUpdateSchema) && "
            "(self.isAllowAutoUpdateSchemaWithReplicator || !self.isAllowAutoUpdateSchema))",
            message="it needs isAllowAutoUpdateSchema, and false needs isAllowAutoUpdateSchema: false",
            holds=lambda spec: (
                spec.get("isAllowAutoUpdateSchemaWithReplicator") is None
                or spec.get("isAllowAutoUpdateSchema") is False
                or (spec["isAllowAutoUpdateSchemaWithReplicator"] and spec.get("isAllowAutoUpdateSchema") is True)
            ),
            path=".isAllowAutoUpdateSchemaWithReplicator",
            reason="FieldValueForbidden",
        ),
    )

    registry: Annotated[
        str,
        Field(
            "Name of the SchemaRegistry, which must allow this Kubernetes namespace to govern pulsarNamespace. One "
            "policy can claim each pair of registry and pulsarNamespace. Immutable.",
            max_length=253,
            rules=(IMMUTABLE, matching(r"^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$", "write the name of a SchemaRegistry")),
        ),
    ]
    pulsar_namespace: Annotated[
        str,
        Field(
            "Pulsar namespace that this policy governs, as tenant/namespace. Immutable.",
            max_length=512,
            rules=(
                IMMUTABLE,
                matching(
                    r"^[-=:.\w]+/[-=:.\w]+$", "write TENANT/NAMESPACE, with only letters, digits and - = : . _ in both"
                ),
                not_matching("(^|/)[.][.]?(/|$)", "'.' and '..' are no names"),
            ),
        ),
    ]
    management_policy: Annotated[
        ManagementPolicy,
        Field(
            "Manage (default): write settings and schemas to the broker. Observe: only read, store and "
            "compare its schemas."
        ),
    ] = ManagementPolicy.MANAGE
    drift_policy: Annotated[
        DriftPolicy,
        Field(
            "Correct (default): write settings of the Pulsar namespace that differ from this policy's. Report: never "
            "write them, and report the difference in InSync. Schemas are written in either case."
        ),
    ] = DriftPolicy.CORRECT
    schema_compatibility_strategy: Annotated[
        Strategy | None,
        Field(
            "Schema compatibility strategy of the Pulsar namespace, by Pulsar's name. UNDEFINED uses "
            "the broker's own. If unset, the Pulsar namespace keeps its value."
        ),
    ] = None
    is_allow_auto_update_schema: Annotated[
        bool | None,
        Field(
            "If false, only the operator adds schemas to topics of the Pulsar namespace. If unset, the "
            "Pulsar namespace keeps its value. Requires a registry with Pulsar."
        ),
    ] = None
    is_allow_auto_update_schema_with_replicator: Annotated[
        bool | None,
        Field(
            "If false, isAllowAutoUpdateSchema: false applies to replicators of other clusters, too. If unset, the "
            "Pulsar namespace keeps its value. Requires Pulsar 5.0; other brokers do not get it."
        ),
    ] = None
    schema_validation_enforced: Annotated[
        bool | None,
        Field(
            "If true, producers need a schema on topics with a schema. If unset, the Pulsar namespace "
            "keeps its value. Requires a registry with Pulsar."
        ),
    ] = None
    unmanaged_topics: Annotated[
        UnmanagedTopicsSpec,
        Field(
            "Topics without a TopicSchema that isAllowAutoUpdateSchema: false does not wait for. It waits for all "
            "others that have schemas. System topics never count."
        ),
    ] = field(default_factory=UnmanagedTopicsSpec)
    strictness: Annotated[
        Strictness,
        Field(
            "Broker (default): exactly the broker's verdict, with warnings if consumers would lose or "
            "misread messages. Strict: reject such schemas, too."
        ),
    ] = Strictness.BROKER
    constraints: Annotated[ConstraintsSpec, Field("Limits for the topics' schemas. An unset field does not limit.")] = (
        field(default_factory=ConstraintsSpec)
    )
    validation: Annotated[
        ValidationSpec | None,
        Field("Validation of retained messages. A TopicSchema can override fields."),
    ] = None
    audit: Annotated[
        AuditSpec | None,
        Field(
            "Audits of all topics of the Pulsar namespace by a schedule. Requires spec.validation.destination of the "
            "registry."
        ),
    ] = None

    @property
    def claim_key(self) -> PulsarNamespaceKey:
        """Key of the policy's claim. Raise StalledError(InvalidResource) if it bypassed the CRD."""
        return PulsarNamespaceKey.parse(self.registry, self.pulsar_namespace)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicCounts:
    """Number of TopicSchemas that the policy governs, by state."""

    total: Annotated[int, Field("All TopicSchemas.")] = 0
    ready: Annotated[int, Field("TopicSchemas that are Ready.")] = 0
    incompatible: Annotated[int, Field("TopicSchemas with an incompatible spec.")] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryCheck:
    """The extent of the last check of the stored histories, which a change of the policy starts."""

    total: Annotated[int, Field("Number of topics of the Pulsar namespace with a stored history.")]
    checked: Annotated[
        int, Field("Number of checked topics. It is less than total if their versions are too many for one check.")
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryConflict:
    """A topic whose newest version the current policy would reject."""

    name: Annotated[str, Field("Name of the TopicSchema, or the topic's local name if there is none.", max_length=512)]
    schema_version: Annotated[int, Field("Newest version of the topic, which would be rejected.")]
    rule: Annotated[
        str,
        Field(
            "Id of the rule that it breaks, or why it cannot be judged.",
            max_length=64,
            pattern="^[A-Za-z0-9_]+$",
        ),
    ]
    path: Annotated[str, Field("JSON path from $ in its schema.", max_length=1024)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectedProducer:
    """A producer that is connected to a topic."""

    name: Annotated[str, Field("Name of the producer.", max_length=256)]
    client_version: Annotated[str | None, Field("Name and version of its client library.", max_length=256)] = None
    address: Annotated[str | None, Field("Address of its client.", max_length=256)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnmanagedTopic:
    """A topic without a TopicSchema that a lock waits for."""

    topic: Annotated[str, Field("The topic's local name.", max_length=1024)]
    reason: Annotated[
        str,
        Field(
            "Why the lock waits for it. HasSchema: the broker has or had schemas of it. Schemaless: it has none, and "
            "spec.unmanagedTopics.schemaless is Block.",
            max_length=64,
            pattern="^[A-Za-z][A-Za-z0-9]*$",
        ),
    ]
    producer_count: Annotated[
        int,
        Field(
            "Number of producers that are connected now. After the lock, the broker refuses those whose schema is not "
            "registered, for instance because it was deleted, and each one that comes back with a new schema."
        ),
    ] = 0
    producers: Annotated[
        tuple[ConnectedProducer, ...], Field("The first of these producers, at most 5.", max_items=5)
    ] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryStatus:
    """The policy's registry."""

    address: Annotated[
        str | None,
        Field(
            "HOST:PORT of the broker's admin API. Empty if the operator's own store is the registry.", max_length=512
        ),
    ] = None
    version: Annotated[
        str | None,
        Field("Release of the broker, or the Pulsar version that the registry names for it.", max_length=64),
    ] = None
    limit_bytes: Annotated[
        int | None, Field("Bytes that the policy's histories may take (spec.limits.bytes). Unset without a limit.")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceSchemaPolicyStatus:
    """The observed state. Lists with a count beside them have at most 20 members."""

    observed_generation: Annotated[int, OBSERVED_GENERATION] = -1
    conditions: Annotated[tuple[Condition, ...], CONDITIONS] = ()
    topics: Annotated[TopicCounts, Field("Number of TopicSchemas that this policy governs, by state.")] = field(
        default_factory=TopicCounts
    )
    history_conflict_count: Annotated[
        int,
        Field("Number of topics whose newest version the current policy would reject, after all versions before it."),
    ] = 0
    history_conflicts: Annotated[
        tuple[HistoryConflict, ...], Field("The first of these topics, at most 20.", max_items=20)
    ] = ()
    history_check: Annotated[
        HistoryCheck | None,
        Field(
            "The check behind historyConflictCount. If unset, a new check is due, and the count is that "
            "of an earlier one."
        ),
    ] = None
    observed: Annotated[
        ObservedSettings | None,
        Field("Settings read from the broker last; unset before the first read."),
    ] = None
    registry: Annotated[
        RegistryStatus | None, Field("The policy's registry as of the last reconcile. Unset before the first.")
    ] = None
    record_bytes: Annotated[
        int | None,
        Field(
            "Bytes that the policy's histories take in the operator's store, with all payloads, in steps of a "
            "hundredth of registry.limitBytes. Unset without a limit."
        ),
    ] = None
    unmanaged_topic_count: Annotated[
        int,
        Field(
            "Number of topics without a TopicSchema that a lock waits for. After the first 20, topics without a "
            "schema count, too, because the operator does not read their schemas."
        ),
    ] = 0
    unmanaged_topics: Annotated[
        tuple[UnmanagedTopic, ...], Field("The first of these topics, at most 20.", max_items=20)
    ] = ()
    audit: Annotated[AuditStatus | None, Field("The last complete audit. Unset before the first.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceSchemaPolicy:
    """The rules for all schemas of one Pulsar namespace. Its TopicSchemas are in the same Kubernetes namespace."""

    metadata: Metadata
    spec: NamespaceSchemaPolicySpec
    status: Annotated[NamespaceSchemaPolicyStatus, LENIENT] = field(default_factory=NamespaceSchemaPolicyStatus)

    def at(self, registry: SchemaRegistry) -> Self:
        """Return the policy with the present state of its registry in the status.

        The address is never unset: an API server makes null of an object that loses its last member, and refuses it.
        """
        state = RegistryStatus(address=registry.address, version=registry.version, limit_bytes=registry.limit_bytes)
        return replace(self, status=replace(self.status, registry=state))

    @property
    def address(self) -> str:
        """HOST:PORT of the broker, or "" if the operator's own store is the registry, or if this is not known yet."""
        return (self.status.registry.address or "") if self.status.registry is not None else ""

    @property
    def release(self) -> str | None:
        """Release of the broker, or None if it is not known yet, or without a broker."""
        return None if self.status.registry is None else self.status.registry.version

    @property
    def limit_bytes(self) -> int | None:
        """Bytes that the policy's histories may take, or None without a limit."""
        return None if self.status.registry is None else self.status.registry.limit_bytes

    @property
    def has_broker(self) -> bool:
        """True if schemas are registered at a broker."""
        return bool(self.address)

    @property
    def observed(self) -> ObservedSettings | None:
        """The settings observed at the broker. None without an observation or without a broker."""
        observed = self.status.observed
        if observed is None or not self.has_broker:
            return None
        return observed if observed.address in (None, self.address) else None
