"""TopicSchema: the schema of one topic, which a team stores in Git."""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated, ClassVar, Self

from topicschema.api.metadata import CONDITIONS, Condition, Metadata
from topicschema.api.schema_fields import FINGERPRINT, IMMUTABLE, LENIENT, OBSERVED_GENERATION, TIME, CelRule, Field
from topicschema.api.schemas import (
    AVAILABLE_TYPES,
    HAS_TEXT,
    MAX_TEXT,
    TYPE_RULES,
    KeyValueSpec,
    Properties,
    ProtobufSpec,
    has_text,
    properties_field,
    type_field,
)
from topicschema.api.validation import TopicValidationSpec, ValidationStatus
from topicschema.core.history import Origin
from topicschema.core.policy import StrategySource
from topicschema.core.schemas import SchemaType
from topicschema.core.strategies import Direction, Strategy, UpgradeFirst


class DeletionPolicy(StrEnum):
    """The effect of deleting the resource on its history. Retain is the default."""

    RETAIN = "Retain"
    DELETE = "Delete"


# The one spelling that core.topics takes. \pZ and \pC: no spaces, nothing that does not print.
_TOPIC = Field(
    "The topic, as persistent://TENANT/NAMESPACE/TOPIC, without partition suffix and %XX escapes. Immutable.",
    max_length=1024,
    rules=(
        IMMUTABLE,
        CelRule(
            cel=r"self.matches('^((non-)?persistent|topic)://[-=:.\\w]+/[-=:.\\w]+/[^/\\pZ\\pC]{1,512}$')",
            message="write persistent://TENANT/NAMESPACE/TOPIC, with exactly these three parts; tenant and namespace "
            "have letters, digits and - = : . _ only, the topic's own name at most 512 characters and no spaces",
        ),
        CelRule(
            cel="!self.startsWith('topic://')",
            message="scalable topics are not supported: Pulsar 5.0.0-M1 deletes their schemas when it removes one of "
            "their segments",
        ),
        CelRule(
            cel="!self.matches('/[.][.]?(/|$)')", message="'.' and '..' are no names of a tenant, namespace or topic"
        ),
        CelRule(
            cel="!self.matches('%[0-9A-Fa-f]{2}')", message="write the topic's own name decoded, without %XX escapes"
        ),
        CelRule(
            cel="!self.matches('-partition-[0-9]+$')",
            message="name the partitioned topic, without -partition-N; its partitions share one schema history",
        ),
    ),
)


_PAIR_PROPERTIES = [
    *(f"{part}.schema.{what}" for part in ("key", "value") for what in ("name", "type", "properties")),
    "kv.encoding.type",
]
_KEY_VALUE_RULES = (
    CelRule(
        cel="self.type != 'KEY_VALUE' || has(self.keyValue)",
        holds=lambda spec: spec["type"] != SchemaType.KEY_VALUE or spec.get("keyValue") is not None,
        message="type KEY_VALUE needs keyValue: the encoding, and the schemas of key and value",
        path=".keyValue",
        reason="FieldValueRequired",
    ),
    CelRule(
        cel=f"self.type != 'KEY_VALUE' || !{HAS_TEXT}",
        holds=lambda spec: spec["type"] != SchemaType.KEY_VALUE or not has_text(spec),
        message="type KEY_VALUE has its two schemas in keyValue: leave schema out",
        path=".schema",
        reason="FieldValueForbidden",
    ),
    CelRule(
        cel="self.type == 'KEY_VALUE' || !has(self.keyValue)",
        holds=lambda spec: spec["type"] == SchemaType.KEY_VALUE or spec.get("keyValue") is None,
        message="keyValue is for type KEY_VALUE only: leave it out, or change the type",
        path=".keyValue",
        reason="FieldValueForbidden",
    ),
    CelRule(
        cel=f"self.type != 'KEY_VALUE' || !has(self.properties) || !{_PAIR_PROPERTIES}.exists("
        "name, name in self.properties)",
        holds=lambda spec: (
            spec["type"] != SchemaType.KEY_VALUE or (spec.get("properties") or {}).keys().isdisjoint(_PAIR_PROPERTIES)
        ),
        message="key.schema.*, value.schema.* and kv.encoding.type are made from keyValue: leave them out",
        path=".properties",
        reason="FieldValueForbidden",
    ),
)
_PROTOBUF_RULES = (
    CelRule(
        cel=f"self.type != 'PROTOBUF_NATIVE' || has(self.protobuf) || {HAS_TEXT}",
        holds=lambda spec: (
            spec["type"] != SchemaType.PROTOBUF_NATIVE or spec.get("protobuf") is not None or has_text(spec)
        ),
        message="type PROTOBUF_NATIVE needs protobuf (the sources) or schema (the envelope that Pulsar stores)",
        path=".protobuf",
        reason="FieldValueRequired",
    ),
    CelRule(
        cel=f"self.type != 'PROTOBUF_NATIVE' || !has(self.protobuf) || !{HAS_TEXT}",
        holds=lambda spec: (
            spec["type"] != SchemaType.PROTOBUF_NATIVE or spec.get("protobuf") is None or not has_text(spec)
        ),
        message="the envelope is compiled from protobuf: leave schema out, or protobuf",
        path=".schema",
        reason="FieldValueForbidden",
    ),
    CelRule(
        cel="self.type == 'PROTOBUF_NATIVE' || !has(self.protobuf)",
        holds=lambda spec: spec["type"] == SchemaType.PROTOBUF_NATIVE or spec.get("protobuf") is None,
        message="protobuf is for type PROTOBUF_NATIVE only: leave it out, or change the type",
        path=".protobuf",
        reason="FieldValueForbidden",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSchemaSpec:
    """The desired state."""

    RULES: ClassVar = (*TYPE_RULES, *_KEY_VALUE_RULES, *_PROTOBUF_RULES)

    topic: Annotated[str, _TOPIC]
    type: Annotated[SchemaType, type_field(AVAILABLE_TYPES)]
    schema: Annotated[
        str,
        Field(
            "Text of the schema in Pulsar's form: an Avro schema in JSON for AVRO, JSON and PROTOBUF. "
            "For PROTOBUF_NATIVE the envelope, unless protobuf has the sources. Empty or unset for "
            "others; for STRING also the text null.",
            max_length=MAX_TEXT,
        ),
    ] = ""
    key_value: Annotated[KeyValueSpec | None, Field("The two schemas of a KEY_VALUE, and their encoding.")] = None
    protobuf: Annotated[
        ProtobufSpec | None,
        Field(
            "Sources of a PROTOBUF_NATIVE. The operator compiles them to the schema that Pulsar's Java "
            "client would send."
        ),
    ] = None
    properties: Annotated[
        Properties,
        properties_field(
            "Properties to register with the schema. Pulsar does not compare them: a change of "
            "properties alone makes no new version."
        ),
    ] = field(default_factory=dict)
    schema_compatibility_strategy: Annotated[
        Strategy | None,
        Field(
            "Schema compatibility strategy of the topic, by Pulsar's name, if the policy allows it. "
            "UNDEFINED uses the policy's. If unset, the topic keeps a value that another client set at the "
            "broker, or uses the policy's."
        ),
    ] = None
    schema_validation_enforced: Annotated[
        bool | None,
        Field(
            "If true, producers of this topic need a schema. A broker that requires one for all topics "
            "takes precedence. If unset, the topic keeps its value. Requires a registry with Pulsar, and "
            "an existing topic."
        ),
    ] = None
    validation: Annotated[
        TopicValidationSpec | None,
        Field("Validation of the topic's retained messages. An unset field has the policy's value."),
    ] = None
    deletion_policy: Annotated[
        DeletionPolicy,
        Field(
            "Retain (default): deleting this resource changes neither history nor broker, so a new resource continues "
            "the history. Delete: it ends the history, against which the next one is judged. It soft-deletes the "
            "schema at the broker, which then serves no older versions to consumers. The policy must allow it."
        ),
    ] = DeletionPolicy.RETAIN
    suspend: Annotated[
        bool,
        Field(
            "If true, the controller registers nothing and ends a running validation. Ready keeps its "
            "status, with the reason Suspended. The webhook still judges edits. Deleting a suspended "
            "resource changes neither history nor broker, whatever deletionPolicy is."
        ),
    ] = False

    @property
    def judged_fields(self) -> Self:
        """The spec with `suspend` and `deletionPolicy` reset, because edits of these fields need no judgment."""
        return replace(self, suspend=False, deletion_policy=DeletionPolicy.RETAIN)

    @property
    def domain(self) -> str:
        """The topic's domain: `persistent` or `non-persistent`."""
        return self.topic.partition("://")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveStrategyStatus:
    """The effective strategy and the level that set it."""

    value: Annotated[Strategy, Field("Strategy, never UNDEFINED.")]
    source: Annotated[
        StrategySource, Field("Level that set it: the topic, the policy (Namespace), or the broker's default.")
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionStatus:
    """One version of the topic."""

    incarnation: Annotated[int, Field("Numbering that the version belongs to.")]
    schema_version: Annotated[int, Field("Number of the version.")]
    type: Annotated[SchemaType, Field("Type of the schema, by Pulsar's name.")]
    fingerprint: Annotated[str, FINGERPRINT]
    registered_at: Annotated[str, TIME]
    origin: Annotated[Origin, Field("Origin: this resource's spec, the broker, or the registry.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class IncompatibilityStatus:
    """One reason for the rejection of the spec."""

    rule: Annotated[str, Field("Id of the rule.", max_length=64, pattern="^[A-Z0-9_]+$")]
    path: Annotated[str, Field("JSON path from $ in the schema, or a field of the resource.", max_length=1024)]
    message: Annotated[str, Field("Explanation for people.", max_length=1024)]
    direction: Annotated[
        Direction | None,
        Field(
            "BACKWARD: the new schema cannot read earlier messages. FORWARD: an earlier version cannot "
            "read new messages."
        ),
    ] = None
    schema_version: Annotated[int | None, Field("Version that it is incompatible with.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportState:
    """State of the operator about all validations of a topic.

    `revalidated` is the newest completed value of the annotation topicschema.io/revalidate. `report_with_values` is the
    ConfigMap that may have values of messages (includeValues).
    """

    revalidated: str | None = None
    report_with_values: str | None = None

    @classmethod
    def of(cls, revalidated: str | None, report_with_values: str | None) -> "ReportState | None":
        """Return the state, or None if there is nothing to remember."""
        state = cls(revalidated=revalidated, report_with_values=report_with_values)
        return None if state == cls() else state


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSchemaStatus:
    """The observed state. Every status write has every field."""

    observed_generation: Annotated[int, OBSERVED_GENERATION] = -1
    conditions: Annotated[tuple[Condition, ...], CONDITIONS] = ()
    incarnation: Annotated[
        int | None, Field("Current numbering of versions from 0. A new one starts if a broker lost the old one.")
    ] = None
    schema_version: Annotated[int | None, Field("Version that equals spec.")] = None
    latest_schema_version: Annotated[int | None, Field("Newest version of the topic.")] = None
    fingerprint: Annotated[str | None, FINGERPRINT] = None
    effective_strategy: Annotated[
        EffectiveStrategyStatus | None, Field("Effective schema compatibility strategy, and the level that set it.")
    ] = None
    upgrade_first: Annotated[UpgradeFirst | None, Field("Clients to upgrade first, by the effective strategy.")] = None
    version_count: Annotated[int, Field("Number of versions of the topic.")] = 0
    versions: Annotated[
        tuple[VersionStatus, ...], Field("Newest versions, oldest first, at most 100.", max_items=100)
    ] = ()
    incompatibility_count: Annotated[int, Field("Number of reasons for the rejection of the spec.")] = 0
    incompatibilities: Annotated[
        tuple[IncompatibilityStatus, ...], Field("The first of these reasons, at most 20.", max_items=20)
    ] = ()
    validation: Annotated[ValidationStatus | None, Field("Newest validation of retained messages, if any.")] = None
    internal: Annotated[
        ReportState | None, Field("State of the operator, in a format that changes.", is_opaque=True)
    ] = None

    @property
    def report_state(self) -> ReportState:
        """State of the operator about all validations, empty if there is nothing to remember."""
        return self.internal or ReportState()


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSchema:
    """The schema of one topic. The webhook rejects edits that the topic's compatibility strategy forbids."""

    metadata: Metadata
    spec: TopicSchemaSpec
    status: Annotated[TopicSchemaStatus, LENIENT] = field(default_factory=TopicSchemaStatus)
