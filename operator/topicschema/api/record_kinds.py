"""The three internal kinds of the record, as they stand on the wire; `record` says what they mean in core's words."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from topicschema.api.metadata import Metadata
from topicschema.api.schema_fields import IMMUTABLE, Field, Rule
from topicschema.core.history import MAX_VERSIONS, Counter, Setting
from topicschema.core.schemas import SchemaType
from topicschema.core.strategies import Strategy

FORMAT = 1
"""The way that contents are written in this release; another number is another way."""

_Format = Annotated[int, Field("How the contents are written; this release writes and reads 1.", minimum=1)]
_PulsarCluster = Annotated[
    str,
    Field("The Pulsar cluster, by the name that policies give it.", min_length=1, max_length=128, rules=(IMMUTABLE,)),
]
_PulsarNamespace = Annotated[
    str, Field("The Pulsar namespace, as tenant/namespace.", min_length=1, max_length=512, rules=(IMMUTABLE,))
]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerReference:
    """The resource that holds a claim."""

    namespace: Annotated[str, Field("The resource's Kubernetes namespace.", max_length=63)]
    name: Annotated[str, Field("The resource's name.", max_length=253)]
    uid: Annotated[
        str, Field("The resource's uid; the claim is free once no object with this uid exists.", max_length=128)
    ]


_STRATEGY = Field("The schema compatibility strategy; absent where none is set.")
_AUTO_UPDATE = Field("Whether clients may add schemas; absent where it is not set.")
_ENFORCEMENT = Field("Whether producers need a schema; absent where it is not set.")


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSettingsValues:
    """A topic's own settings at the broker."""

    schema_compatibility_strategy: Annotated[Strategy | None, _STRATEGY] = None
    schema_validation_enforced: Annotated[bool | None, _ENFORCEMENT] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSettingsSpec:
    """What was found and what was written of a topic's own settings at the broker."""

    found: Annotated[TopicSettingsValues, Field("What each setting was before it was first written.")]
    written: Annotated[
        TopicSettingsValues,
        Field("What the operator last wrote; absent if nothing, or if it restored what was found."),
    ] = field(default_factory=TopicSettingsValues)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceSettingsValues:
    """A Pulsar namespace's settings at the broker."""

    schema_compatibility_strategy: Annotated[Strategy | None, _STRATEGY] = None
    schema_auto_update_compatibility_strategy: Annotated[
        str | None, Field("The older setting that Pulsar deprecated, by its own names.", max_length=64)
    ] = None
    is_allow_auto_update_schema: Annotated[bool | None, _AUTO_UPDATE] = None
    schema_validation_enforced: Annotated[bool | None, _ENFORCEMENT] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaHistorySpec:
    """The versions of one topic in the current incarnation, and who may add to them."""

    RULES: ClassVar = (
        Rule(
            cel="self.incarnation > oldSelf.incarnation || size(self.versions) >= size(oldSelf.versions)",
            message="a history never loses versions; a new count of versions is a new incarnation",
            path=".versions",
            reason="FieldValueForbidden",
        ),
    )

    format: _Format
    pulsar_cluster: _PulsarCluster
    pulsar_namespace: _PulsarNamespace
    local_name: Annotated[
        str, Field("The topic's own name, decoded.", min_length=1, max_length=512, rules=(IMMUTABLE,))
    ]
    claim: Annotated[OwnerReference | None, Field("The TopicSchema that may add versions; absent when nobody may.")] = (
        None
    )
    incarnation: Annotated[
        int,
        Field(
            "Which count of versions from 0 this is; a new one starts when a broker lost the old.",
            rules=(Rule(cel="self >= oldSelf", message="it never goes back", reason="FieldValueForbidden"),),
        ),
    ]
    latest_schema_version: Annotated[
        int | None, Field("The newest version that counts, for people to read; absent when there is none.")
    ] = None
    versions: Annotated[
        tuple[Annotated[str, Field(max_length=140)], ...],
        Field(
            "The versions, oldest first, one line each: number, type, origin (S spec, B broker, R registry), time, "
            "fingerprint and content hash (sha256 in unpadded base64url), then what applies of: T a tombstone, U no "
            "broker can parse it, D a broker fails on its defaults; the Pulsar line that read it, unless 4.0; the "
            "first 9 letters of the sha256 of the sources that it was compiled from.",
            max_items=MAX_VERSIONS,
        ),
    ]
    counted_by: Annotated[Counter | None, Field("Who gave the versions their numbers; Operator when absent.")] = None
    uncounted: Annotated[
        int | None,
        Field("How many of the newest versions the broker has not counted yet: registered while there was none."),
    ] = None
    topic_settings: Annotated[
        TopicSettingsSpec | None,
        Field(
            "The topic's own settings at the broker, from before the first was written; absent until then, unless "
            "others gave it a strategy before."
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaHistory:
    """The record of one topic, kept by the operator: never edit it. It outlives the TopicSchema (deletionPolicy)."""

    RULES: ClassVar = (
        Rule(
            cel="self.metadata.name.matches('^h-[0-9a-f]{40}$')",
            message="a SchemaHistory is named h- and 40 hex digits of the sha256 over the names in its spec",
            path=".metadata",
        ),
    )

    metadata: Metadata
    spec: SchemaHistorySpec


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaVersionSpec:
    """One version's payload."""

    format: _Format
    history: Annotated[
        str, Field("The name of the SchemaHistory that this belongs to.", max_length=42, pattern="^h-[0-9a-f]{40}$")
    ]
    incarnation: Annotated[int, Field("Which count of versions `schemaVersion` belongs to.")]
    schema_version: Annotated[int, Field("The number of the version within its incarnation, from 0.")]
    type: Annotated[SchemaType, Field("Pulsar's name of the schema's type.")]
    properties: Annotated[
        Mapping[str, Annotated[str, Field(max_length=262144)]],
        Field("The properties that were registered with the schema.", max_properties=1024),
    ] = field(default_factory=dict)
    content_hash: Annotated[
        str,
        Field("sha256 over type, properties and bytes of the schema.", max_length=71, pattern="^sha256:[0-9a-f]{64}$"),
    ]
    source_hash: Annotated[
        str | None,
        Field(
            "sha256 over the sources that the schema was compiled from, when it was.",
            max_length=71,
            pattern="^sha256:[0-9a-f]{64}$",
        ),
    ] = None
    payload: Annotated[str, Field("The schema's bytes: zlib, then base64.", max_length=1500000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaVersion:
    """One version's payload, kept by the operator: immutable. It counts only if its SchemaHistory names it."""

    RULES: ClassVar = (
        Rule(
            cel="self.spec == oldSelf.spec",
            message="a version is never changed",
            path=".spec",
            reason="FieldValueForbidden",
        ),
        Rule(
            cel="self.metadata.name.matches('^h-[0-9a-f]{40}-[0-9]+-[0-9]+-[0-9a-f]{12}$')",
            message="a SchemaVersion is named HISTORY-INCARNATION-VERSION-HASH, 12 digits of its content hash",
            path=".metadata",
        ),
    )

    metadata: Metadata
    spec: SchemaVersionSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class PulsarNamespaceClaimSpec:
    """Which policy governs one Pulsar namespace, and what was found there."""

    format: _Format
    pulsar_cluster: _PulsarCluster
    pulsar_namespace: _PulsarNamespace
    owner: Annotated[
        OwnerReference | None, Field("The NamespaceSchemaPolicy that holds the claim; absent when it is free.")
    ] = None
    address: Annotated[
        str | None,
        Field(
            "HOST:PORT of the broker at which the holder governs; absent without one. At one broker one policy governs "
            "a Pulsar namespace, whatever names its Pulsar cluster is given.",
            max_length=512,
        ),
    ] = None
    found: Annotated[
        NamespaceSettingsValues | None,
        Field("What each setting of the Pulsar namespace was before it was first written; absent until then."),
    ] = None
    managed: Annotated[
        tuple[Setting, ...],
        Field("The settings that were ever written, by their fields.", max_items=len(Setting), list_type="set"),
    ] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PulsarNamespaceClaim:
    """Who governs one Pulsar namespace, kept by the operator: never edit it."""

    RULES: ClassVar = (
        Rule(
            cel="self.metadata.name.matches('^c-[0-9a-f]{40}$')",
            message="a PulsarNamespaceClaim is named c- and 40 hex digits of the sha256 over the names in its spec",
            path=".metadata",
        ),
    )

    metadata: Metadata
    spec: PulsarNamespaceClaimSpec
