"""Edits of stored objects, and statuses, that the API server must refuse; the rows read as in wrong_objects."""

from typing import Any

from cluster.wrong_objects import ABSENT, CLAIM, HISTORY, POLICY, TOPIC, VERSION, Row, changed, wrong

_FIXED = "cannot be changed"

WRONG_EDITS = [
    wrong("another topic", TOPIC, "spec.topic", "persistent://shop/orders/deleted", _FIXED),
    wrong("the same topic, not persistent", TOPIC, "spec.topic", "non-persistent://shop/orders/created", _FIXED),
    wrong("another Pulsar cluster", POLICY, "spec.pulsarCluster", "other", _FIXED),
    wrong("another Pulsar namespace", POLICY, "spec.pulsarNamespace", "shop/other", _FIXED),
    wrong("the text taken away", TOPIC, "spec.schema", ABSENT, "needs the text"),
    wrong("a history of another topic", HISTORY, "spec.localName", "deleted", _FIXED),
    wrong("a history of another cluster", HISTORY, "spec.pulsarCluster", "other", _FIXED),
    wrong("a history of another namespace", HISTORY, "spec.pulsarNamespace", "a/b", _FIXED),
    wrong("a history that loses a version", HISTORY, "spec.versions", [], "never loses versions"),
    wrong("an incarnation that goes back", HISTORY, "spec.incarnation", 0, "cannot decrease"),
    Row("another payload", VERSION, "spec.payload", "AAAA", "spec", "cannot be changed"),
    Row("other properties of a version", VERSION, "spec.properties", {"a": "b"}, "spec", "cannot be changed"),
    Row("no properties of a version", VERSION, "spec.properties", ABSENT, "spec", "cannot be changed"),
    wrong("a claim of another namespace", CLAIM, "spec.pulsarNamespace", "a/b", _FIXED),
]  # fmt: skip

_CONDITION = {
    "type": "Ready",
    "status": "True",
    "reason": "Registered",
    "message": "",
    "lastTransitionTime": "2026-11-21T05:30:00Z",
    "observedGeneration": 1,
}
_VERSION = {
    "incarnation": 0,
    "schemaVersion": 0,
    "type": "AVRO",
    "fingerprint": "sha256:" + "0" * 64,
    "registeredAt": "2026-11-21T05:30:00Z",
    "origin": "Spec",
}
_REASON = {"rule": "TYPE_CHANGED", "path": "$", "message": "other", "direction": "BACKWARD", "schemaVersion": 1}

RIGHT_STATUS: dict[str, Any] = {
    "observedGeneration": 1,
    "conditions": [_CONDITION, _CONDITION | {"type": "Compatible", "status": "Unknown"}],
    "incarnation": 0,
    "schemaVersion": 0,
    "latestSchemaVersion": 2,
    "fingerprint": "sha256:" + "0" * 64,
    "effectiveStrategy": {"value": "BACKWARD_TRANSITIVE", "source": "Namespace"},
    "upgradeFirst": "Consumers",
    "versionCount": 100,
    "versions": [_VERSION] * 100,
    "incompatibilityCount": 20,
    "incompatibilities": [_REASON] * 20,
}
_TOPIC = TOPIC | {"status": RIGHT_STATUS}


def _status(sentence: str, path: str, value: Any, field: str, words: str) -> Row:
    return Row(sentence, _TOPIC, f"status.{path}", value, f"status.{field}", words)


def _in(item: dict[str, Any], path: str, value: Any) -> list[dict[str, Any]]:
    return [changed(item, path, value)]


WRONG_STATUS = [
    _status("a generation below -1", "observedGeneration", -2, "observedGeneration", "greater than or equal to -1"),
    _status("a reason in words", "conditions", _in(_CONDITION, "reason", "not yet"), "conditions[0].reason", "match"),
    _status("a condition twice", "conditions", [_CONDITION] * 2, "conditions[1]", "Duplicate value"),
    _status("101 versions", "versions", [_VERSION] * 101, "versions", "Too many"),
    _status("no time", "versions", _in(_VERSION, "registeredAt", "today"), "versions[0].registeredAt", "date-time"),
    _status("a short fingerprint", "fingerprint", "sha256:0", "fingerprint", "should match"),
    _status("a long message", "incompatibilities", _in(_REASON, "message", "x" * 1025),
            "incompatibilities[0].message", "Too long"),
]  # fmt: skip
