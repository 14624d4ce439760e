"""NamespaceSchemaPolicy: what the platform team says of all topics of one Pulsar namespace."""

from dataclasses import dataclass, field
from typing import Annotated

from topicschema.api.brokers import ManagementPolicy, ObservedSettings, PulsarSpec
from topicschema.api.metadata import CONDITIONS, Condition, Metadata
from topicschema.api.schema_fields import IMMUTABLE, LENIENT, OBSERVED_GENERATION, Field, Rule
from topicschema.api.schemas import AVAILABLE_TYPES
from topicschema.api.validation import ValidationSpec
from topicschema.core.policy import Strictness
from topicschema.core.schemas import PulsarLine, SchemaType
from topicschema.core.strategies import Strategy


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerProfileSpec:
    """What the broker does where nothing is set."""

    line: Annotated[PulsarLine, Field("The broker's release line; 4.0 when absent.")] = PulsarLine.V4_0
    schema_compatibility_strategy: Annotated[
        Strategy | None, Field("The broker's own schema compatibility strategy; FULL, Pulsar's default, when absent.")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstraintsSpec:
    """Governance at admission; what is absent is not limited."""

    allowed_types: Annotated[
        tuple[Annotated[SchemaType, Field(values=AVAILABLE_TYPES)], ...],
        Field("The types that schemas may have.", max_items=len(AVAILABLE_TYPES), list_type="set"),
    ] = ()
    allowed_strategies: Annotated[
        tuple[Strategy, ...],
        Field("The strategies that a topic may set for itself.", max_items=len(Strategy), list_type="set"),
    ] = ()
    required_properties: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=256)], ...],
        Field("The properties that every schema must have, not empty.", max_items=64, list_type="set"),
    ] = ()
    max_schema_bytes: Annotated[
        int | None, Field("How large a schema's text may be, in bytes of UTF-8.", minimum=1)
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceSchemaPolicySpec:
    """What the platform team wants."""

    pulsar_cluster: Annotated[
        str,
        Field(
            "A name for the Pulsar cluster. With pulsarNamespace it is what this policy claims, once in the whole "
            "Kubernetes cluster. Immutable.",
            max_length=128,
            rules=(
                IMMUTABLE,
                Rule(cel=r"self.matches('^[-=:.\\w]+$')", message="it may have letters, digits and - = : . _ only"),
            ),
        ),
    ]
    pulsar_namespace: Annotated[
        str,
        Field(
            "The Pulsar namespace whose topics this policy governs, as tenant/namespace. Immutable.",
            max_length=512,
            rules=(
                IMMUTABLE,
                Rule(
                    cel=r"self.matches('^[-=:.\\w]+/[-=:.\\w]+$')",
                    message="write TENANT/NAMESPACE; both have letters, digits and - = : . _ only",
                ),
                Rule(cel="!self.matches('(^|/)[.][.]?(/|$)')", message="'.' and '..' are no names"),
            ),
        ),
    ]
    management_policy: Annotated[
        ManagementPolicy,
        Field(
            "Whether the broker is written to: Manage (also when absent), or Observe: its schemas are read, put on "
            "record and compared, and nothing is changed there."
        ),
    ] = ManagementPolicy.MANAGE
    schema_compatibility_strategy: Annotated[
        Strategy | None,
        Field(
            "The schema compatibility strategy of the Pulsar namespace, by Pulsar's name. UNDEFINED: the broker's own. "
            "Absent: whatever the Pulsar namespace has at the broker, which is left as it is."
        ),
    ] = None
    is_allow_auto_update_schema: Annotated[
        bool | None,
        Field(
            "Whether clients may add schemas to the topics of the Pulsar namespace; with false only what is in Git "
            "gets there. Absent: left as it is. Needs pulsar."
        ),
    ] = None
    schema_validation_enforced: Annotated[
        bool | None,
        Field("Whether producers need a schema for topics that have one. Absent: left as it is. Needs pulsar."),
    ] = None
    lock_undeclared: Annotated[
        bool,
        Field(
            "Whether isAllowAutoUpdateSchema: false may hit topics that have no TopicSchema. Unless it is true, the "
            "first lock waits until every topic of the Pulsar namespace has one."
        ),
    ] = False
    strictness: Annotated[
        Strictness,
        Field(
            "How strict to be: Broker (also when absent) gives exactly the broker's verdict, and warns of what the "
            "broker lets pass and consumers then lose or misread; Strict refuses that, too."
        ),
    ] = Strictness.BROKER
    broker_profile: Annotated[BrokerProfileSpec, Field("What the broker does where nothing is set.")] = field(
        default_factory=BrokerProfileSpec
    )
    constraints: Annotated[
        ConstraintsSpec, Field("What the topics' schemas must keep to; what is absent is not limited.")
    ] = field(default_factory=ConstraintsSpec)
    pulsar: Annotated[
        PulsarSpec | None,
        Field(
            "The broker to keep in step with the resources; absent: none, and the operator's record is the registry."
        ),
    ] = None
    validation: Annotated[
        ValidationSpec | None,
        Field("Whether messages that are retained already must be readable; what topics do not say otherwise."),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicCounts:
    """How many TopicSchemas the policy governs, and how they are."""

    total: Annotated[int, Field("All of them.")] = 0
    ready: Annotated[int, Field("Those that are Ready.")] = 0
    incompatible: Annotated[int, Field("Those whose spec was refused as incompatible.")] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryCheck:
    """The extent of the last check of the topics on record, which a change of the policy starts."""

    total: Annotated[int, Field("How many topics of the Pulsar namespace were on record.")]
    checked: Annotated[
        int, Field("How many of them were checked. It is less than total if their versions are too many for one check.")
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryConflict:
    """A topic whose newest version would not pass the policy that is now in force."""

    name: Annotated[str, Field("The TopicSchema, or the topic's own name where there is none.", max_length=512)]
    schema_version: Annotated[int, Field("The topic's newest version, which would not pass.")]
    rule: Annotated[
        str,
        Field(
            "The rule that it breaks, by its stable id, or why it cannot be judged.",
            max_length=64,
            pattern="^[A-Za-z0-9_]+$",
        ),
    ]
    path: Annotated[str, Field("The place in its schema, as a JSON path from $.", max_length=1024)]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceSchemaPolicyStatus:
    """What the controller saw. Of lists that have a count beside them, at most 20 members are given."""

    observed_generation: Annotated[int, OBSERVED_GENERATION] = -1
    conditions: Annotated[tuple[Condition, ...], CONDITIONS] = ()
    topics: Annotated[TopicCounts, Field("How many TopicSchemas this policy governs, and how they are.")] = field(
        default_factory=TopicCounts
    )
    history_conflict_count: Annotated[
        int,
        Field(
            "How many topics have a newest version that would not pass the policy that is now in force, after all "
            "versions before it."
        ),
    ] = 0
    history_conflicts: Annotated[
        tuple[HistoryConflict, ...], Field("The first of these topics, at most 20.", max_items=20)
    ] = ()
    history_check: Annotated[
        HistoryCheck | None,
        Field(
            "What historyConflictCount is about. Absent while a check is due: the count is then that of an earlier one."
        ),
    ] = None
    observed: Annotated[
        ObservedSettings | None,
        Field("What the broker has, when it was last looked at; absent while it was never seen."),
    ] = None
    undeclared_topic_count: Annotated[
        int, Field("How many topics of the Pulsar namespace have no TopicSchema, while a lock waits for them.")
    ] = 0
    undeclared_topics: Annotated[
        tuple[Annotated[str, Field(max_length=1024)], ...],
        Field("The first of these topics, at most 20.", max_items=20),
    ] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceSchemaPolicy:
    """What the platform team says of the schemas of one Pulsar namespace. The topics' own resources stand beside it."""

    metadata: Metadata
    spec: NamespaceSchemaPolicySpec
    status: Annotated[NamespaceSchemaPolicyStatus, LENIENT] = field(default_factory=NamespaceSchemaPolicyStatus)

    @property
    def observed(self) -> ObservedSettings | None:
        """What was seen at the broker that the policy names now; None where nothing was, or it names none."""
        seen, pulsar = self.status.observed, self.spec.pulsar
        if seen is None or pulsar is None:
            return None
        return seen if seen.address in (None, pulsar.address) else None
