"""Brokers in resources and record: objects that the API server must refuse or accept, as in wrong_objects."""

from typing import Any

from cluster.wrong_objects import ABSENT, CLAIM, HISTORY, POLICY, TOPIC, Row, changed, wrong

_SETTINGS: dict[str, Any] = {
    "managementPolicy": "Manage",
    "driftPolicy": "Correct",
    "isAllowAutoUpdateSchema": False,
    "isAllowAutoUpdateSchemaWithReplicator": False,
    "schemaValidationEnforced": True,
    "unmanagedTopics": {"exempt": ["*-DLQ"], "schemaless": "Block"},
}
BROKER = POLICY | {"spec": POLICY["spec"] | _SETTINGS}
MANAGED = changed(TOPIC, "spec", TOPIC["spec"] | {"schemaValidationEnforced": False})
ORIGINAL = changed(
    CLAIM,
    "spec",
    CLAIM["spec"]
    | {
        "original": {
            "schemaCompatibilityStrategy": "FULL",
            "schemaAutoUpdateCompatibilityStrategy": "Full",
            "isAllowAutoUpdateSchema": True,
            "schemaValidationEnforced": False,
        },
        "managed": ["schemaCompatibilityStrategy", "isAllowAutoUpdateSchema"],
    },
)
NUMBERED = changed(
    HISTORY,
    "spec",
    HISTORY["spec"]
    | {
        "numberedBy": "Broker",
        "topicSettings": {
            "original": {},
            "written": {"schemaCompatibilityStrategy": "FULL", "schemaValidationEnforced": True},
            "pending": {"before": {}, "wanted": {"schemaCompatibilityStrategy": "BACKWARD"}},
        },
    },
)

_UNSUPPORTED = "Unsupported value"
_REQUIRED = "Required value"
_REPLICATORS = "spec.isAllowAutoUpdateSchemaWithReplicator"

WRONG_BROKERS = [
    wrong("another management", BROKER, "spec.managementPolicy", "Ignore", _UNSUPPORTED),
    wrong("another drift policy", BROKER, "spec.driftPolicy", "Ignore", _UNSUPPORTED),
    wrong("another word for schemaless", BROKER, "spec.unmanagedTopics.schemaless", "Skip", _UNSUPPORTED),
    Row("a full topic name", BROKER, "spec.unmanagedTopics.exempt", ["shop/orders/*"],
        "spec.unmanagedTopics.exempt[0]", "write local names of topics"),
    Row("replicators without a lock", BROKER, "spec.isAllowAutoUpdateSchema", ABSENT, _REPLICATORS, "it needs"),
    Row("replicators refused and clients not", BROKER, "spec.isAllowAutoUpdateSchema", value=True,
        field=_REPLICATORS, words="it needs"),
    wrong("settings before nothing", NUMBERED, "spec.topicSettings.original", ABSENT, _REQUIRED),
    Row("a setting twice", ORIGINAL, "spec.managed", ["isAllowAutoUpdateSchema"] * 2, "spec.managed[1]", "Duplicate"),
]  # fmt: skip

RIGHT_BROKERS = [
    Row("a policy that only observes", BROKER, "spec.managementPolicy", "Observe"),
    Row("a policy that reports drift", BROKER, "spec.driftPolicy", "Report"),
    Row("a lock at once", BROKER, "spec.unmanagedTopics.exempt", ["*"]),
    Row("a topic with a setting of its own", MANAGED, "spec.schemaValidationEnforced", value=True),
    Row("a history that the broker counts", NUMBERED, "spec.topicSettings.pending", ABSENT),
    Row("a claim with the original settings", ORIGINAL, "spec.managed", ABSENT),
]

RIGHT_BROKER_EDITS = [
    Row("replicators under no lock", BROKER, "spec.isAllowAutoUpdateSchemaWithReplicator", value=True),
    Row("a history that the operator counts again", NUMBERED, "spec.numberedBy", ABSENT),
    Row("settings that were restored", NUMBERED, "spec.topicSettings.written", {}),
]
