"""The reasons of conditions and Events, and how the operator treats each.

docs/operations.md and `topicschema explain` get their tables from here (`make generate`). A new reason is one member.
"""

# ruff: noqa: E501  # one reason is one line

from collections.abc import Iterator
from enum import Enum, StrEnum, auto
from typing import Self

_TRUE = "True"
_STALLED = "Stalled"
_RECONCILING = "Reconciling"
_EVENT = "Event"
_ELSEWHERE = ""


class Category(Enum):
    """The cause of a reason."""

    INVALID = auto()
    """The TopicSchema itself, whatever its policy, the topic's history and the broker are."""
    UNGOVERNED = auto()
    """No policy governs the topic."""
    REFUSED = auto()
    """A schema or a setting was rejected."""
    HISTORY = auto()
    """The stored history is damaged, lost or full."""
    BROKER = auto()
    """The topic's state at the broker cannot be read. This does not invalidate the last known state."""
    MACHINE = auto()
    """A process of this machine takes too long or ended. Another topic may be judged."""
    OTHER = auto()


class Reason(StrEnum):
    """A reason: its category, the status of Ready (or of which condition), and what to do, in Markdown.

    A member without a text has that of the member before.
    """

    category: Category
    condition: str
    advice: str

    def __new__(
        cls, name: str, category: Category = Category.OTHER, condition: str = _ELSEWHERE, advice: str = ""
    ) -> Self:
        """Return the member."""
        self = str.__new__(cls, name)
        self._value_ = name
        self.category, self.condition, self.advice = category, condition, advice
        return self

    # fmt: off
    REGISTERED = "Registered", Category.OTHER, _TRUE, "Nothing. If `Compatible` has the reason `ConsumerRisk` (also one Event), consumers may lose or misread messages: see [rules.md](rules.md). The condition covers the 100 previous versions, and stays until the resource has another version. `strictness: Strict` in the policy rejects such edits from then on."
    ROLLED_BACK = "RolledBack", Category.OTHER, _TRUE
    ACTIVE = "Active", Category.OTHER, _TRUE
    INCOMPATIBLE = "Incompatible", Category.REFUSED, _STALLED, "The schema was stored without the webhook, or the policy became stricter. `status.incompatibilities` has the paths: fix the schema, or return to an earlier version. With the rule `INVALID_HISTORY` the broker cannot read one of its own versions and fails on all later ones. Delete the topic's schemas at the broker, or use [another topic](incompatible-change.md)."
    INVALID_SCHEMA = "InvalidSchema", Category.INVALID, _STALLED, "The spec was stored without CRD validation and webhook. Fix it where the message says."
    INVALID_TOPIC = "InvalidTopic", Category.INVALID, _STALLED
    INVALID_PULSAR_NAMESPACE = "InvalidPulsarNamespace", Category.OTHER, _STALLED
    INVALID_RESOURCE = "InvalidResource", Category.INVALID, _STALLED
    SCHEMA_TOO_LARGE = "SchemaTooLarge", Category.OTHER, _STALLED
    PULSAR_VERSION_MISMATCH = "PulsarVersionMismatch", Category.OTHER, _STALLED, "The broker has another Pulsar version than `spec.pulsar.version` of its SchemaRegistry. Remove the field, or correct it. Meanwhile the broker's version judges."
    PULSAR_VERSION_UNKNOWN = "PulsarVersionUnknown", Category.UNGOVERNED, _RECONCILING, "The broker does not report its release. Set `spec.pulsar.version` of the SchemaRegistry."
    STRATEGY_UNKNOWN = "StrategyUnknown", Category.UNGOVERNED, _STALLED, "The operator's role may not read the broker's own strategy, and nothing else sets one. Set `schemaCompatibilityStrategy` in the policy."
    POLICY_NOT_FOUND = "PolicyNotFound", Category.UNGOVERNED, _RECONCILING, "Create a NamespaceSchemaPolicy for the topic's Pulsar namespace in this Kubernetes namespace. If there are two that hold a claim to it (in two registries), delete one."
    REGISTRY_NOT_FOUND = "RegistryNotFound", Category.UNGOVERNED, _RECONCILING, "The platform team must create the SchemaRegistry that `spec.registry` names: `kubectl get schemaregistries` lists the present ones."
    CLAIM_NOT_ALLOWED = "ClaimNotAllowed", Category.UNGOVERNED, _STALLED, "The platform team must add the Kubernetes namespace and the Pulsar namespace to `spec.allowedNamespaces` of the SchemaRegistry."
    TOPIC_ALREADY_CLAIMED = "TopicAlreadyClaimed", Category.UNGOVERNED, _STALLED, "Another resource or policy was first. The message names it if it is in the same namespace. Otherwise an admin finds it among the [stored histories and claims](#backup-and-restore). Delete one of the two."
    HISTORY_DAMAGED = "HistoryDamaged", Category.HISTORY, _STALLED, "A stored history was changed by another client, or a part is missing. The message names the object: [restore it](#backup-and-restore). Until then, nothing is judged."
    HISTORY_LOST = "HistoryLost", Category.HISTORY, _STALLED, "The stored history has fewer versions than the status: it is missing, or an older one was restored. [Restore](#backup-and-restore) the newest, or delete and recreate the resource to start over. With a broker, the broker lost stored versions, and the message says which. The operator uploads nothing. See [Lost history](broker.md#lost-history)."
    HISTORY_FULL = "HistoryFull", Category.HISTORY, _STALLED, "A history has at most 10,000 versions, deletions included. The operator wrote nothing, and an earlier schema can still become Ready. See [Full history](#full-history)."
    RECORD_FULL = "RecordFull", Category.HISTORY, _STALLED, "The policy's histories take all of `spec.limits.bytes` of the SchemaRegistry. The operator wrote nothing, and an earlier schema can still become Ready. The platform team raises the limit: [Full record](#full-record)."
    REFUSED_BY_BROKER = "RefusedByBroker", Category.REFUSED, "Stalled; Reconciling while the policy's settings are not at the broker yet", "The broker refused a schema or setting that passed here, and the message quotes it. Usually another client was faster or changed a setting. For `Topic level policies is disabled` see [broker.md](broker.md#responses). Otherwise report a bug."
    UNSUPPORTED_SCHEMA_TYPE = "UnsupportedSchemaType", Category.BROKER, _STALLED, "The topic has a version of a type that this release does not know. Upgrade the operator, or use [another topic](incompatible-change.md)."
    OBSERVED = "Observed", Category.OTHER, _TRUE, "`managementPolicy: Observe`: the operator writes nothing to the broker. `InSync` says whether the broker has what the spec wants."
    VALIDATING = "Validating", Category.OTHER, _RECONCILING, "A gate: validation reads the topic's messages with the schema first. `status.validation` has the progress; `kubectl get jobs -l topicschema.io/topicschema=NAME`."
    VALIDATION_FAILED = "ValidationFailed", Category.REFUSED, _STALLED, "A gate: the schema cannot read messages of the topic. `status.validation` says which and why: [validation.md](validation.md#operator)."
    VALIDATION_ERROR = "ValidationError", Category.OTHER, _RECONCILING, "A gate: validation could not read the messages, and the message says why. The operator registers nothing until it can."
    UNMANAGED_TOPICS = "UnmanagedTopics", Category.OTHER, _RECONCILING, "A policy's lock waits: the topics of `status.unmanagedTopics` have schemas and no TopicSchema. Create TopicSchemas for them, or exempt the topics with `spec.unmanagedTopics.exempt`: [Auto-update lock](broker.md#auto-update-lock)."
    SETTING_CONTESTED = "SettingContested", Category.OTHER, _RECONCILING, "Another client changed a setting of the Pulsar namespace three times in ten minutes after the operator wrote it. The operator stopped writing it until ten minutes later, or until the policy's spec changes: [Coexistence](coexistence.md)."
    BROKER_UNAVAILABLE = "BrokerUnavailable", Category.BROKER, _RECONCILING, "The broker does not respond as expected: [Responses](broker.md#responses). Registered versions and written settings stay Ready, with `InSync` Unknown. The same holds for {others}."
    NOT_A_BROKER = "NotABroker", Category.BROKER, _RECONCILING, "A server answers at `spec.pulsar.adminURL` of the SchemaRegistry, but not as a Pulsar broker: a web page, a proxy, or another port. The same is reported if a proxy in front of the broker answers for it."
    INVALID_SERVICE_URL = "InvalidServiceURL", Category.BROKER, _STALLED, "A server answers at `spec.pulsar.serviceURL` of the SchemaRegistry, but it does not speak Pulsar's protocol: another port, or a port with or without TLS."
    BROKER_TLS_VERIFICATION_FAILED = "BrokerTLSVerificationFailed", Category.BROKER, _RECONCILING, "The broker's certificate is not valid. If its issuer is unknown, name the CA in `spec.pulsar.tls.caSecretRef` of the SchemaRegistry."
    BROKER_UNAUTHORIZED = "BrokerUnauthorized", Category.BROKER, _RECONCILING, "Check the Secret of `spec.pulsar.authentication` of the SchemaRegistry."
    BROKER_FORBIDDEN = "BrokerForbidden", Category.BROKER, _RECONCILING, "Give the operator's role the permission that the message names."
    BROKER_INCONSISTENT = "BrokerInconsistent", Category.BROKER, _RECONCILING, "The broker accepted a value and returns another: see the broker's log."
    BROKER_NOT_ALLOWED = "BrokerNotAllowed", Category.BROKER, _STALLED, "The broker redirects to a host that gets no credentials. Add it to `spec.pulsar.redirectHosts` of the SchemaRegistry."
    TENANT_NOT_FOUND = "TenantNotFound", Category.BROKER, _RECONCILING, "It does not exist at the broker, and the operator does not create it. Check `pulsarNamespace`, and `adminURL` of the SchemaRegistry."
    NAMESPACE_NOT_FOUND = "NamespaceNotFound", Category.BROKER, _RECONCILING
    TOPIC_NOT_FOUND = "TopicNotFound", Category.BROKER, _RECONCILING, "The topic's own settings (`schemaCompatibilityStrategy`, `schemaValidationEnforced` of the TopicSchema) need the topic. Its first producer or consumer creates it. Or remove the settings."
    SECRET_NOT_FOUND = "SecretNotFound", Category.BROKER, _RECONCILING, "The message names the Secret, in the operator's namespace."
    SECRET_INVALID = "SecretInvalid", Category.BROKER, _RECONCILING
    COMPILER_TIMEOUT = "CompilerTimeout", Category.MACHINE, _RECONCILING, "The child process that compiles protobuf sources did not start or end in time: the machine has too little CPU or memory."
    COMPILER_UNAVAILABLE = "CompilerUnavailable", Category.MACHINE, _RECONCILING
    COMPILER_STOPPED = "CompilerStopped", Category.MACHINE, _RECONCILING
    WORKER_TIMEOUT = "WorkerTimeout", Category.MACHINE, _RECONCILING, "The process that compares large schemas did not start or end within a minute, or was killed: the machine has too little CPU or memory. A costly schema is no reason: it is [rejected](#size-limits)."
    WORKER_UNAVAILABLE = "WorkerUnavailable", Category.MACHINE, _RECONCILING
    CHECKER_TIMEOUT = "CheckerTimeout", Category.MACHINE, _RECONCILING, "A plugged-in checker takes too long: [checkers.md](checkers.md)."
    FORBIDDEN = "Forbidden", Category.OTHER, _RECONCILING, "Apply the roles of `manifests/base/rbac.yaml`."
    STORAGE_REFUSED = "StorageRefused", Category.OTHER, _RECONCILING, "The database of the store refuses the operator, and the message says why: a wrong password, a missing database or right, or tables of a newer release. See [storage.md](storage.md#errors)."
    SUSPENDED = "Suspended", Category.OTHER, "As before; no Reconciling, no Stalled", "`spec.suspend` is true: the operator neither judges nor registers the spec. `Ready` and the other conditions keep their last status."
    REFUSED_BY_API_SERVER = "RefusedByApiServer", Category.OTHER, _STALLED, "CRDs and operator are of different releases, or an object is too large."
    INTERNAL_ERROR = "InternalError", Category.OTHER, "Unknown, Reconciling", "A bug: report it with the log."
    SETTING_RETAINED = "SettingRetained", Category.OTHER, _EVENT, "A field was removed from a policy, or a TopicSchema was deleted with `deletionPolicy: Delete` and its topic's settings could not be read. The broker keeps the setting."
    REPLICATION_AT_RISK = "ReplicationAtRisk", Category.OTHER, _EVENT, "A lock is set on a Pulsar namespace that other clusters replicate: [Geo-replication](broker.md#geo-replication)."
    PULSAR_VERSION_UNSUPPORTED = "PulsarVersionUnsupported", Category.OTHER, _EVENT, "The broker has a release that the operator does not know. Upgrade the operator. Until then, verdicts may differ from the broker's."
    REDACTION_FAILED = "RedactionFailed", Category.OTHER, _EVENT, "A report with values could not be removed after `includeValues` was turned off: [Validation](validation.md#operator)."
    DELETION_SKIPPED = "DeletionSkipped", Category.OTHER, _EVENT, "A resource was deleted, and its schemas stayed at the broker: [Deletion](broker.md#deletion)."

    MESSAGES_UNREADABLE = "MessagesUnreadable", Category.OTHER, _EVENT, "An audit found messages of a topic that its current schema cannot read, and the audit before found none: [Audit a namespace](audit.md#schedule)."
    EXCEPTION_USED = "ExceptionUsed", Category.OTHER, _EVENT, "A version was registered that the policy's strategy refuses, because of an exception in the policy: [Incompatible changes](incompatible-change.md)."

    # Reasons of other conditions than Ready: a table of docs/operations.md names them.
    APPLIED = "Applied"
    AUDIT_FAILED = "AuditFailed"
    AUDIT_PENDING = "AuditPending"
    AUDITED = "Audited"
    AUTO_UPDATE_ENABLED = "AutoUpdateEnabled"
    COMPATIBLE = "Compatible"
    CONSUMER_RISK = "ConsumerRisk"
    PASSED = "Passed"
    REACHABLE = "Reachable"
    SETTING_DRIFTED = "SettingDrifted"
    TOPICS_UNREAD = "TopicsUnread"
    UNMANAGED_VERSION = "UnmanagedVersion"

    # Reasons of errors that no condition has.
    API_SERVER_UNAVAILABLE = "ApiServerUnavailable"
    CONFLICT = "Conflict"
    INVALID_HISTORY = "InvalidHistory"
    INVALID_PAYLOAD = "InvalidPayload"
    INVALID_VALIDATION_REQUEST = "InvalidValidationRequest"
    NO_CLUSTER = "NoCluster"
    NOT_FOUND = "NotFound"
    NOT_LEADING = "NotLeading"
    OUT_OF_MEMORY = "OutOfMemory"
    RUN_FAILED = "RunFailed"
    SCHEMA_NOT_FOUND = "SchemaNotFound"
    SOURCE_UNREADABLE = "SourceUnreadable"
    STORAGE_UNAVAILABLE = "StorageUnavailable"
    UNKNOWN = ""
    # fmt: on

    @classmethod
    def of(cls, text: str) -> "Reason":
        """Return the reason of a stored condition, or UNKNOWN for one of another release."""
        try:
            return cls(text)
        except ValueError:
            return cls.UNKNOWN

    @property
    def revokes_access(self) -> bool:
        """True if no policy permits, or no valid resource requests, to read the topic's messages."""
        if self.category is Category.UNGOVERNED:
            return self not in (Reason.PULSAR_VERSION_UNKNOWN, Reason.STRATEGY_UNKNOWN)
        return self.category is Category.INVALID or self is Reason.BROKER_NOT_ALLOWED

    @property
    def refuses_spec(self) -> bool:
        """True if the controller registers no schema of a resource that is stalled for this reason."""
        return self.category is Category.REFUSED or self is Reason.INVALID_SCHEMA

    @property
    def prevents_judgment(self) -> bool:
        """True if one topic cannot be judged, and others can."""
        return self.category is Category.MACHINE or self is Reason.HISTORY_DAMAGED

    @property
    def leaves_settings(self) -> bool:
        """True if the broker answered, and does not have what a policy sets."""
        return self in {
            Reason.BROKER_INCONSISTENT,
            Reason.NAMESPACE_NOT_FOUND,
            Reason.REFUSED_BY_BROKER,
            Reason.SETTING_CONTESTED,
            Reason.TENANT_NOT_FOUND,
            Reason.UNMANAGED_TOPICS,
        }


def table(*, events: bool) -> Iterator[str]:
    """Yield the rows of the Markdown table of the reasons of Ready, or of Events without a condition."""
    rows: list[list[Reason]] = []
    for each in Reason:
        if each.condition and (each.condition == _EVENT) is events:
            rows += [[]] if each.advice else []
            rows[-1].append(each)
    others = ", ".join(
        f"`{each}`" for each in Reason if each.category is Category.BROKER and each is not Reason.BROKER_UNAVAILABLE
    )
    for row in rows:
        names = ", ".join(f"`{each}`" for each in row)
        cells = [names, *([] if events else [row[0].condition]), row[0].advice.replace("{others}", others)]
        yield f"| {' | '.join(cells)} |"
