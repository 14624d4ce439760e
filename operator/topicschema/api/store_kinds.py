"""The three internal kinds, as stored; `store` converts them to core's types."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from topicschema.api.metadata import Metadata
from topicschema.api.schema_fields import IMMUTABLE, CelRule, Field
from topicschema.core.history import MAX_DELETED, MAX_VERSIONS, NumberedBy
from topicschema.core.remote import Setting
from topicschema.core.schemas import SchemaType
from topicschema.core.strategies import Strategy

FORMAT = 1
"""The format of the contents in this release. Another number is another format."""

_Format = Annotated[int, Field("Format of the contents; this release reads and writes 1.", minimum=1)]
_Registry = Annotated[
    str,
    Field("Name of the SchemaRegistry.", min_length=1, max_length=253, rules=(IMMUTABLE,)),
]
_PulsarNamespace = Annotated[
    str, Field("Pulsar namespace, as tenant/namespace.", min_length=1, max_length=512, rules=(IMMUTABLE,))
]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerReference:
    """The resource that holds a claim."""

    namespace: Annotated[str, Field("Kubernetes namespace of the resource.", max_length=63)]
    name: Annotated[str, Field("Name of the resource.", max_length=253)]
    uid: Annotated[str, Field("UID of the resource. The claim is free once no object has this UID.", max_length=128)]


_STRATEGY = Field("Schema compatibility strategy, if set.")
_AUTO_UPDATE = Field("Whether clients may add schemas, if set.")
_ENFORCEMENT = Field("Whether producers need a schema, if set.")


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSettingsValues:
    """A topic's own settings at the broker."""

    schema_compatibility_strategy: Annotated[Strategy | None, _STRATEGY] = None
    schema_validation_enforced: Annotated[bool | None, _ENFORCEMENT] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSettingsSpec:
    """The original and the written values of a topic's own settings at the broker."""

    original: Annotated[TopicSettingsValues, Field("Original values, before the first write.")]
    written: Annotated[TopicSettingsValues, Field("Values written last, unless restored.")] = field(
        default_factory=TopicSettingsValues
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceSettingsValues:
    """A Pulsar namespace's settings at the broker."""

    schema_compatibility_strategy: Annotated[Strategy | None, _STRATEGY] = None
    schema_auto_update_compatibility_strategy: Annotated[
        str | None, Field("Pulsar's deprecated setting, by its own names.", max_length=64)
    ] = None
    is_allow_auto_update_schema: Annotated[bool | None, _AUTO_UPDATE] = None
    is_allow_auto_update_schema_with_replicator: Annotated[
        bool | None, Field("Whether replicators may add schemas, if set.")
    ] = None
    schema_validation_enforced: Annotated[bool | None, _ENFORCEMENT] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedVersionsSpec:
    """The deleted versions of one incarnation."""

    incarnation: Annotated[int, Field("Incarnation that had these versions.")]
    versions: Annotated[
        tuple[Annotated[str, Field(max_length=140)], ...],
        Field("Versions, oldest first, in the form of spec.versions.", max_items=MAX_DELETED),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaHistorySpec:
    """The versions of one topic in the current incarnation, and the resource that may add to them."""

    RULES: ClassVar = (
        CelRule(
            cel="self.incarnation > oldSelf.incarnation || size(self.versions) >= size(oldSelf.versions)",
            message="a history never loses versions; a new numbering is a new incarnation",
            path=".versions",
            reason="FieldValueForbidden",
        ),
    )

    format: _Format
    registry: _Registry
    pulsar_namespace: _PulsarNamespace
    local_name: Annotated[
        str, Field("Local name of the topic, decoded.", min_length=1, max_length=512, rules=(IMMUTABLE,))
    ]
    claim: Annotated[OwnerReference | None, Field("TopicSchema that may add versions, if any.")] = None
    incarnation: Annotated[
        int,
        Field(
            "Numbering of versions from 0. A new one starts if a broker lost the old one.",
            rules=(CelRule(cel="self >= oldSelf", message="it cannot decrease", reason="FieldValueForbidden"),),
        ),
    ]
    latest_schema_version: Annotated[
        int | None, Field("Newest version after the last deletion, if any; for people.")
    ] = None
    versions: Annotated[
        tuple[Annotated[str, Field(max_length=140)], ...],
        Field(
            "Versions, oldest first, one line each: number, type, origin (S spec, B broker, R "
            "registry), time, fingerprint and content hash (sha256 in unpadded base64url). Optional "
            "marks follow. T: a tombstone. U: no broker can parse it. D: a broker fails on its "
            "defaults. The Pulsar version that parsed it, unless 4.0. The first 9 letters of the sha256 "
            "of its sources.",
            max_items=MAX_VERSIONS,
        ),
    ]
    deleted: Annotated[
        tuple[DeletedVersionsSpec, ...] | None,
        Field("Versions that their resource deleted. They still count for compatibility.", max_items=MAX_DELETED),
    ] = None
    payload_bytes: Annotated[
        int | None,
        Field("Bytes of all SchemaVersions that were ever stored for the topic, deleted versions included."),
    ] = None
    numbered_by: Annotated[NumberedBy | None, Field("Who assigned the version numbers. Default: Operator.")] = None
    unconfirmed: Annotated[
        int | None,
        Field("Number of newest versions without a number from the broker: registered while there was none."),
    ] = None
    topic_settings: Annotated[
        TopicSettingsSpec | None,
        Field(
            "Original and written values of the topic's own settings at the broker. Unset before the "
            "first write, unless another client set a strategy."
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaHistory:
    """The history of one topic, stored by the operator. Do not edit it. deletionPolicy controls its deletion."""

    RULES: ClassVar = (
        CelRule(
            cel="self.metadata.name.matches('^h-[0-9a-f]{40}$')",
            message="a SchemaHistory is named h- and 40 hex digits of the sha256 over the names in its spec",
            path=".metadata",
        ),
    )

    metadata: Metadata
    spec: SchemaHistorySpec


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaVersionSpec:
    """The schema of one version."""

    format: _Format
    history: Annotated[
        str, Field("Name of the SchemaHistory that this belongs to.", max_length=42, pattern="^h-[0-9a-f]{40}$")
    ]
    incarnation: Annotated[int, Field("Numbering that `schemaVersion` belongs to.")]
    schema_version: Annotated[int, Field("Number of the version within its incarnation, from 0.")]
    type: Annotated[SchemaType, Field("Type of the schema, by Pulsar's name.")]
    properties: Annotated[
        Mapping[str, Annotated[str, Field(max_length=262144)]],
        Field("Properties registered with the schema.", max_properties=1024),
    ] = field(default_factory=dict)
    content_hash: Annotated[
        str,
        Field("sha256 over type, properties and bytes of the schema.", max_length=71, pattern="^sha256:[0-9a-f]{64}$"),
    ]
    source_hash: Annotated[
        str | None,
        Field(
            "sha256 over the sources of the schema, if any.",
            max_length=71,
            pattern="^sha256:[0-9a-f]{64}$",
        ),
    ] = None
    payload: Annotated[str, Field("Bytes of the schema: zlib, then base64.", max_length=1500000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaVersion:
    """The schema of one version, stored by the operator. Immutable. It counts only if its SchemaHistory names it."""

    RULES: ClassVar = (
        CelRule(
            cel="self.spec == oldSelf.spec",
            message="a version cannot be changed",
            path=".spec",
            reason="FieldValueForbidden",
        ),
        CelRule(
            cel="self.metadata.name.matches('^h-[0-9a-f]{40}-[0-9]+-[0-9]+-[0-9a-f]{12}$')",
            message="a SchemaVersion is named HISTORY-INCARNATION-VERSION-HASH, 12 digits of its content hash",
            path=".metadata",
        ),
    )

    metadata: Metadata
    spec: SchemaVersionSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class PulsarNamespaceClaimSpec:
    """The policy that governs one Pulsar namespace, and the original settings."""

    format: _Format
    registry: _Registry
    pulsar_namespace: _PulsarNamespace
    owner: Annotated[OwnerReference | None, Field("NamespaceSchemaPolicy that holds the claim, if any.")] = None
    address: Annotated[
        str | None,
        Field(
            "HOST:PORT of the holder's broker, if any. At one broker, one policy governs a Pulsar "
            "namespace, whatever the name of the registry.",
            max_length=512,
        ),
    ] = None
    original: Annotated[
        NamespaceSettingsValues | None,
        Field("Original settings of the Pulsar namespace, before the first write."),
    ] = None
    managed: Annotated[
        tuple[Setting, ...],
        Field("Settings that the operator has written.", max_items=len(Setting), list_type="set"),
    ] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PulsarNamespaceClaim:
    """The policy that governs one Pulsar namespace, stored by the operator. Do not edit it."""

    RULES: ClassVar = (
        CelRule(
            cel="self.metadata.name.matches('^c-[0-9a-f]{40}$')",
            message="a PulsarNamespaceClaim is named c- and 40 hex digits of the sha256 over the names in its spec",
            path=".metadata",
        ),
    )

    metadata: Metadata
    spec: PulsarNamespaceClaimSpec
