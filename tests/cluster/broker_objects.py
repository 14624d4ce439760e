"""Brokers in resources and record: objects that the API server must refuse or accept, as in wrong_objects."""

from typing import Any

from cluster.wrong_objects import ABSENT, CLAIM, HISTORY, POLICY, TOPIC, Row, changed, wrong

_URL = "spec.pulsar.adminURL"
_SECURED: dict[str, Any] = {
    "managementPolicy": "Manage",
    "isAllowAutoUpdateSchema": False,
    "schemaValidationEnforced": True,
    "lockUndeclared": False,
    "pulsar": {
        "adminURL": "https://pulsar-admin.pulsar.svc:8443",
        "authentication": {"token": {"secretKeyRef": {"name": "pulsar", "key": "token"}}},
        "tls": {"caSecretKeyRef": {"name": "pulsar", "key": "ca.crt"}},
    },
}
_OAUTH2 = {
    "issuerURL": "https://login.example/realms/pulsar",
    "clientId": "topicschema",
    "audience": "urn:pulsar:prod",
    "scope": "admin schemas",
    "secretKeyRef": {"name": "pulsar", "key": "client-secret"},
}
_CERTIFICATE = {"secretRef": {"name": "topicschema-client"}}
BROKER = POLICY | {"spec": POLICY["spec"] | _SECURED}
PLAIN = changed(BROKER, "spec.pulsar", {"adminURL": "http://pulsar:8080"})
MANAGED = changed(
    TOPIC,
    "spec",
    TOPIC["spec"] | {"managementPolicy": "Observe", "adoptionPolicy": "Refuse", "schemaValidationEnforced": False},
)
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
_TYPE = "must be of type"
_HOST = "write https://HOST:PORT"

WRONG_BROKERS = [
    *(
        wrong(f"the address {address!r}", BROKER, _URL, address, _HOST)
        for address in (
            "https://",
            "https://user:secret@pulsar:8443",
            "https://user@pulsar:8443",
            "https://pulsar:8443?token=secret",
            "https://pulsar:8443/?a",
            "https://pulsar:8443/#top",
            "https://pulsar:8443/admin/v2",
            "https://pulsar:84430000",
            "https://pulsar:",
            "https://pul sar",
            "https://pulsar\n",
            "https://pulsar\\@evil",
            "https://größe.example",
            "https://[::1",
            "HTTPS://pulsar",
            "https://-pulsar",
        )
    ),
    wrong("an address of another protocol", PLAIN, _URL, "pulsar://pulsar:6650", _HOST),
    wrong("no identity", BROKER, "spec.pulsar.authentication", {}, "give one of"),
    Row("two identities", BROKER, "spec.pulsar.authentication.oauth2", _OAUTH2,
        "spec.pulsar.authentication", "give one of"),
    wrong("a token of no Secret", BROKER, "spec.pulsar.authentication.token.secretKeyRef", ABSENT, _REQUIRED),
    wrong("a Secret elsewhere", BROKER, "spec.pulsar.authentication.token.secretKeyRef.name", "kube-system/admin",
          "should match"),
    wrong("a path for a key", BROKER, "spec.pulsar.authentication.token.secretKeyRef.key", "../token", "should match"),
    Row("an issuer with a user", BROKER, "spec.pulsar.authentication",
        {"oauth2": _OAUTH2 | {"issuerURL": "https://a:b@login.example"}},
        "spec.pulsar.authentication.oauth2.issuerURL", "without user"),
    Row("a client without an id", BROKER, "spec.pulsar.authentication", {"oauth2": _OAUTH2 | {"clientId": ""}},
        "spec.pulsar.authentication.oauth2.clientId", "at least 1 char"),
    wrong("a certificate over http", PLAIN, "spec.pulsar.authentication", {"tls": _CERTIFICATE}, "requires https"),
    wrong("trust over http", PLAIN, "spec.pulsar.tls", _SECURED["pulsar"]["tls"], "requires https"),
    wrong("another adoption", MANAGED, "spec.adoptionPolicy", "Replace", _UNSUPPORTED),
    wrong("settings before nothing", NUMBERED, "spec.topicSettings.original", ABSENT, _REQUIRED),
    Row("a setting twice", ORIGINAL, "spec.managed", ["isAllowAutoUpdateSchema"] * 2, "spec.managed[1]", "Duplicate"),
]  # fmt: skip

RIGHT_BROKERS = [
    Row("a broker with token and trust", BROKER, "spec.managementPolicy", "Observe"),
    Row("a broker over http", PLAIN, "spec.lockUndeclared", value=True),
    Row("a token over http", PLAIN, "spec.pulsar.authentication", _SECURED["pulsar"]["authentication"]),
    Row("OAuth 2.0", BROKER, "spec.pulsar.authentication", {"oauth2": _OAUTH2}),
    Row("a client certificate", BROKER, "spec.pulsar.authentication", {"tls": _CERTIFICATE}),
    *(
        Row(f"the address {address}", BROKER, _URL, address)
        for address in (
            "https://pulsar",
            "https://pulsar/",
            "https://10.0.0.7:8443",
            "https://[fd00::7]:8443/",
            "https://pulsar_admin.Example:443",
        )
    ),
    Row("a topic that only observes", MANAGED, "spec.adoptionPolicy", "Adopt"),
    Row("a history that the broker counts", NUMBERED, "spec.topicSettings.pending", ABSENT),
    Row("a claim with the original settings", ORIGINAL, "spec.managed", ABSENT),
]

RIGHT_BROKER_EDITS = [
    Row("another address", BROKER, _URL, "https://elsewhere:8443"),
    Row("no broker any more", BROKER, "spec.pulsar", ABSENT),
    Row("a broker, later", POLICY, "spec.pulsar", PLAIN["spec"]["pulsar"]),
    Row("a lock lifted", BROKER, "spec.isAllowAutoUpdateSchema", value=True),
    Row("a history that the operator counts again", NUMBERED, "spec.numberedBy", ABSENT),
    Row("settings that were restored", NUMBERED, "spec.topicSettings.written", {}),
]
