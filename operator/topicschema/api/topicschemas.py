"""TopicSchema: the schema of one topic, as a team keeps it in Git."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, ClassVar

from topicschema.api.brokers import AdoptionPolicy, ManagementPolicy
from topicschema.api.metadata import CONDITIONS, Condition, Metadata
from topicschema.api.schema_fields import FINGERPRINT, IMMUTABLE, LENIENT, OBSERVED_GENERATION, TIME, Field, Rule
from topicschema.api.schemas import (
    AVAILABLE_TYPES,
    HAS_TEXT,
    MAX_TEXT,
    TYPE_RULES,
    KeyValueSpec,
    Properties,
    ProtobufSpec,
    properties_field,
    type_field,
)
from topicschema.api.validation import TopicValidationSpec, ValidationStatus
from topicschema.core.history import Origin
from topicschema.core.policy import StrategySource
from topicschema.core.schemas import SchemaType
from topicschema.core.strategies import Direction, Strategy, UpgradeFirst


class DeletionPolicy(StrEnum):
    """What deleting the resource does to the topic's record. Retain is the default."""

    RETAIN = "Retain"
    DELETE = "Delete"


# The one spelling that core.topics takes. \pZ and \pC: no spaces, nothing that does not print.
_TOPIC = Field(
    "The topic, spelled persistent://TENANT/NAMESPACE/TOPIC: no partition suffix, no %XX escapes. Immutable.",
    max_length=1024,
    rules=(
        IMMUTABLE,
        Rule(
            cel=r"self.matches('^(non-)?persistent://[-=:.\\w]+/[-=:.\\w]+/[^/\\pZ\\pC]{1,512}$')",
            message="write persistent://TENANT/NAMESPACE/TOPIC, with exactly these three parts; tenant and namespace "
            "have letters, digits and - = : . _ only, the topic's own name at most 512 characters and no spaces",
        ),
        Rule(cel="!self.matches('/[.][.]?(/|$)')", message="'.' and '..' are no names of a tenant, namespace or topic"),
        Rule(cel="!self.matches('%[0-9A-Fa-f]{2}')", message="write the topic's own name decoded, without %XX escapes"),
        Rule(
            cel="!self.matches('-partition-[0-9]+$')",
            message="name the partitioned topic, without -partition-N; its partitions share one schema history",
        ),
    ),
)


_PAIR_PROPERTIES = [f"{part}.schema.{what}" for part in ("key", "value") for what in ("name", "type", "properties")]
_KEY_VALUE_RULES = (
    Rule(
        cel="self.type != 'KEY_VALUE' || has(self.keyValue)",
        message="type KEY_VALUE needs keyValue: the encoding, and the schemas of key and value",
        path=".keyValue",
        reason="FieldValueRequired",
    ),
    Rule(
        cel=f"self.type != 'KEY_VALUE' || !{HAS_TEXT}",
        message="type KEY_VALUE has its two schemas in keyValue: leave schema out",
        path=".schema",
        reason="FieldValueForbidden",
    ),
    Rule(
        cel="self.type == 'KEY_VALUE' || !has(self.keyValue)",
        message="keyValue is for type KEY_VALUE only: leave it out, or change the type",
        path=".keyValue",
        reason="FieldValueForbidden",
    ),
    Rule(
        cel=f"self.type != 'KEY_VALUE' || !has(self.properties) || !{[*_PAIR_PROPERTIES, 'kv.encoding.type']}.exists("
        "name, name in self.properties)",
        message="key.schema.*, value.schema.* and kv.encoding.type are made from keyValue: leave them out",
        path=".properties",
        reason="FieldValueForbidden",
    ),
)
_PROTOBUF_RULES = (
    Rule(
        cel=f"self.type != 'PROTOBUF_NATIVE' || has(self.protobuf) || {HAS_TEXT}",
        message="type PROTOBUF_NATIVE needs protobuf (the sources) or schema (the envelope that Pulsar stores)",
        path=".protobuf",
        reason="FieldValueRequired",
    ),
    Rule(
        cel=f"self.type != 'PROTOBUF_NATIVE' || !has(self.protobuf) || !{HAS_TEXT}",
        message="the envelope is compiled from protobuf: leave schema out, or protobuf",
        path=".schema",
        reason="FieldValueForbidden",
    ),
    Rule(
        cel="self.type == 'PROTOBUF_NATIVE' || !has(self.protobuf)",
        message="protobuf is for type PROTOBUF_NATIVE only: leave it out, or change the type",
        path=".protobuf",
        reason="FieldValueForbidden",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSchemaSpec:
    """What the team wants."""

    RULES: ClassVar = (*TYPE_RULES, *_KEY_VALUE_RULES, *_PROTOBUF_RULES)

    topic: Annotated[str, _TOPIC]
    type: Annotated[SchemaType, type_field(AVAILABLE_TYPES)]
    schema: Annotated[
        str,
        Field(
            "The schema's text, exactly as Pulsar takes it for this type: an Avro schema in JSON for AVRO, JSON and "
            "PROTOBUF; for PROTOBUF_NATIVE the envelope, unless protobuf has the sources; empty or absent for the "
            "others (for STRING also the text null).",
            max_length=MAX_TEXT,
        ),
    ] = ""
    key_value: Annotated[KeyValueSpec | None, Field("The two schemas of a KEY_VALUE, and how messages carry them.")] = (
        None
    )
    protobuf: Annotated[
        ProtobufSpec | None,
        Field("The sources of a PROTOBUF_NATIVE; the operator compiles them to what Pulsar's Java client would send."),
    ] = None
    properties: Annotated[
        Properties,
        properties_field(
            "Properties to register with the schema. Pulsar does not compare them: a change here alone makes no new "
            "version."
        ),
    ] = field(default_factory=dict)
    schema_compatibility_strategy: Annotated[
        Strategy | None,
        Field(
            "The topic's own schema compatibility strategy, by Pulsar's name, where the policy allows it. UNDEFINED: "
            "the policy's. Absent: the same, but a strategy that the topic has of its own at the broker stays."
        ),
    ] = None
    schema_validation_enforced: Annotated[
        bool | None,
        Field(
            "Whether this topic's producers need a schema; a broker that demands one everywhere is not overruled. "
            "Absent: left as it is. Needs a policy with pulsar, and a topic that exists at the broker."
        ),
    ] = None
    validation: Annotated[
        TopicValidationSpec | None,
        Field(
            "Whether the topic's messages that are retained already must be readable with this schema; each field that "
            "is absent is as the policy has it."
        ),
    ] = None
    deletion_policy: Annotated[
        DeletionPolicy,
        Field(
            "What deleting this resource does: Retain (when absent) touches neither record nor broker, so that a new "
            "resource goes on with the history; Delete removes the record, and soft-deletes the schema at the broker, "
            "which then no longer serves the older versions to consumers."
        ),
    ] = DeletionPolicy.RETAIN
    adoption_policy: Annotated[
        AdoptionPolicy,
        Field(
            "What becomes of schemas that the topic already has at the broker: Adopt (also when absent) puts them on "
            "record and judges this one by them; Refuse stops with a reason."
        ),
    ] = AdoptionPolicy.ADOPT
    management_policy: Annotated[
        ManagementPolicy,
        Field(
            "Whether this topic is written to at the broker: Manage (also when absent), as far as the policy is "
            "Manage, or Observe: what is there is put on record and compared, and nothing is changed."
        ),
    ] = ManagementPolicy.MANAGE
    suspend: Annotated[
        bool,
        Field(
            "While true the controller registers nothing and ends a validation that runs. The condition Ready stays as "
            "it was, with the reason Suspended. Edits are judged by the webhook all the same. Deleting a "
            "suspended resource leaves record and broker as they are, whatever deletionPolicy says."
        ),
    ] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveStrategyStatus:
    """The strategy in force and the level that set it."""

    value: Annotated[Strategy, Field("The strategy, never UNDEFINED.")]
    source: Annotated[StrategySource, Field("Who set it: the topic, the policy (Namespace) or the broker's default.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionStatus:
    """One version of the topic as the status shows it."""

    incarnation: Annotated[int, Field("Which count of versions from 0 the number belongs to.")]
    schema_version: Annotated[int, Field("The version's number.")]
    type: Annotated[SchemaType, Field("The schema's type, by Pulsar's name.")]
    fingerprint: Annotated[str, FINGERPRINT]
    registered_at: Annotated[str, TIME]
    origin: Annotated[Origin, Field("Where it came from: this resource's spec, the broker, or the registry.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class IncompatibilityStatus:
    """One reason why the spec is refused."""

    rule: Annotated[str, Field("The rule that is broken, by its stable id.", max_length=64, pattern="^[A-Z0-9_]+$")]
    path: Annotated[
        str, Field("The place in the schema, as a JSON path from $, or a field of the resource.", max_length=1024)
    ]
    message: Annotated[str, Field("What is wrong, in words.", max_length=1024)]
    direction: Annotated[
        Direction | None,
        Field("Who could not read whom: BACKWARD, the new schema the old messages; FORWARD, the reverse."),
    ] = None
    schema_version: Annotated[int | None, Field("The version it clashes with.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSchemaStatus:
    """What the controller saw and did. Every field is sent with every status write."""

    observed_generation: Annotated[int, OBSERVED_GENERATION] = -1
    conditions: Annotated[tuple[Condition, ...], CONDITIONS] = ()
    incarnation: Annotated[
        int | None, Field("Which count of versions from 0 is current; a new one starts when a broker lost the old.")
    ] = None
    schema_version: Annotated[int | None, Field("The version that is equal to spec.")] = None
    latest_schema_version: Annotated[int | None, Field("The newest version of the topic.")] = None
    fingerprint: Annotated[str | None, FINGERPRINT] = None
    effective_strategy: Annotated[
        EffectiveStrategyStatus | None, Field("The schema compatibility strategy in force, and who set it.")
    ] = None
    upgrade_first: Annotated[
        UpgradeFirst | None, Field("Which clients must go to the new version first, by the strategy in force.")
    ] = None
    version_count: Annotated[int, Field("How many versions the topic has.")] = 0
    versions: Annotated[
        tuple[VersionStatus, ...], Field("The newest versions, oldest first, at most 100.", max_items=100)
    ] = ()
    incompatibility_count: Annotated[int, Field("How many reasons there are to refuse the spec.")] = 0
    incompatibilities: Annotated[
        tuple[IncompatibilityStatus, ...], Field("The first of these reasons, at most 20.", max_items=20)
    ] = ()
    validation: Annotated[
        ValidationStatus | None, Field("The newest validation of retained messages; absent where there is none.")
    ] = None
    revalidated: Annotated[
        str | None,
        Field("The newest value of the annotation topicschema.io/revalidate that was answered.", max_length=256),
    ] = None
    report_with_values: Annotated[
        str | None,
        Field("The ConfigMap that may show what messages hold (includeValues); absent once none does.", max_length=253),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSchema:
    """The schema of one topic. An edit that would break its consumers or producers is refused."""

    metadata: Metadata
    spec: TopicSchemaSpec
    status: Annotated[TopicSchemaStatus, LENIENT] = field(default_factory=TopicSchemaStatus)
