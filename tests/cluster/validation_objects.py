"""Validation in resources: objects that the API server must refuse or accept, as in wrong_objects."""

from typing import Any

from cluster.wrong_objects import POLICY, TOPIC, Json, Row, changed, wrong

_EVERY_FIELD: dict[str, Any] = {
    "mode": "Gate",
    "source": {"pulsar": {}},
    "authentication": {"token": {"secretKeyRef": {"name": "reader", "key": "token"}}},
    "sample": {"maxMessages": 1000, "percent": 50, "since": "168h", "seed": 7},
    "tolerance": {"maxInvalidPerMillion": 10},
    "executors": 2,
    "includeValues": True,
    "activeDeadlineSeconds": 60,
    "ttlSecondsAfterFinished": 3600,
    "template": {
        "image": "registry.test:5000/validation:1@sha256:ab",
        "serviceAccountName": "reader",
        "resources": {"requests": {"cpu": "500m"}, "limits": {"memory": "1.5Gi"}},
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "batch", "operator": "Exists", "effect": "NoSchedule"}],
    },
}
_AT = "spec.validation"
_PULSAR = {"adminURL": "https://pulsar:8443", "serviceURL": "pulsar+ssl://a:6651,b:6651"}
FULL = changed(changed(POLICY, _AT, _EVERY_FIELD), "spec.pulsar", _PULSAR)
OWN = changed(TOPIC, _AT, {"mode": "Report", "sample": {"percent": 1}})
_FILES = {"files": {"uri": "s3://archive/orders", "format": "Parquet"}}
_LIMITS = "template.resources.limits"
_TOLERATIONS = f"{_AT}.template.tolerations"


def _wrong(sentence: str, path: str, value: Any, words: str, base: Json = OWN) -> Row:
    """Return the row of a wrong member of the validation, which the refusal names."""
    return wrong(sentence, base, f"{_AT}.{path}", value, words)


RIGHT_VALIDATIONS = [
    Row("every field of a validation", FULL, "metadata.labels", {}),
    Row("a topic with few fields", OWN, "metadata.labels", {}),
    Row("a topic without a field", OWN, _AT, {}),
    Row("messages in files", OWN, f"{_AT}.source", _FILES),
    *(
        Row(f"files without a format, {uri}", OWN, f"{_AT}.source", {"files": {"uri": uri}})
        for uri in (
            "gs://archive",
            "s3://archive/orders?endpoint_override=minio.archive.svc:9000&scheme=http",
            "abfs://orders@account.dfs.core.windows.net/archive",
            "abfss://account.blob.core.windows.net/orders/archive",
            "abfs://account@orders/archive",
            "abfs://orders",
        )
    ),
    Row("all of the messages", FULL, f"{_AT}.sample", {}),
    Row("a certificate", FULL, f"{_AT}.authentication", {"tls": {"secretRef": {"name": "reader"}}}),
    Row("one host", FULL, "spec.pulsar.serviceURL", "pulsar://127.0.0.1:6650/"),
]
WRONG_VALIDATIONS = [
    _wrong("a mode that is none", "mode", "Perhaps", "Gate"),
    _wrong("two sources", "source", {"pulsar": {}, **_FILES}, "one of pulsar and files"),
    _wrong("no source in source", "source", {}, "one of pulsar and files"),
    *(
        Row(f"files at {uri}", OWN, f"{_AT}.source", {"files": {"uri": uri}}, f"{_AT}.source.files.uri", words)
        for uri, words in (
            ("file:///etc", "s3://"),
            ("s3://key:secret@archive/orders", "remove the credentials"),
            # The others would get the account's token.
            ("gs://archive/orders?endpoint_override=evil.example", "only s3:// takes options"),
            ("abfs://orders?blob_storage_authority=evil.example", "only s3:// takes options"),
            ("abfss://account@evil.example/orders", "write abfs://"),
            ("abfs://orders@account.dfs.core.windows.net.evil.example/a", "write abfs://"),
            ("abfs://account.dfs.core.windows.net:8443/orders", "write abfs://"),
            ("abfs://a@b@evil.example/orders", "write abfs://"),
            ("abfs://evil%2eexample/orders", "write abfs://"),
            ("abfs://evil.example%2f@orders", "write abfs://"),
        )
    ),
    _wrong("no per cent", "sample.percent", 0, "greater than or equal to 1"),
    _wrong("more than all", "sample.percent", 101, "100 at most"),
    _wrong("a time without a unit", "sample.since", "168", "should match"),
    _wrong("more than all invalid", "tolerance.maxInvalidPerMillion", 1_000_001, "1000000 at most", FULL),
    _wrong("too many executors", "executors", 65, "64 at most"),
    _wrong("a week and a second", "activeDeadlineSeconds", 604_801, "604800 at"),
    _wrong("a month and a second", "ttlSecondsAfterFinished", 2_592_001, "2592000 at most"),
    _wrong("no time at all", "activeDeadlineSeconds", 0, "equal to 1"),
    _wrong("gone before it is tried again", "ttlSecondsAfterFinished", 60, "equal to 3600"),
    _wrong("no identity", "authentication", {}, "one of token, oauth2 and tls", FULL),
    _wrong("a resource of the host", _LIMITS, {"nvidia.com/gpu": "1"}, "cpu, memory and ephemeral-storage", FULL),
    _wrong("an amount that is none", f"{_LIMITS}.memory", "much", "should match", FULL),
    _wrong("an image with a space", "template.image", "a b", "should match", FULL),
    Row("an effect that is none", FULL, _TOLERATIONS, [{"effect": "No"}], f"{_TOLERATIONS}[0].effect", "NoSchedule"),
    wrong("a broker by http", FULL, "spec.pulsar.serviceURL", "http://a:80", "pulsar://"),
    wrong("a broker with a user", FULL, "spec.pulsar.serviceURL", "pulsar://u@a:80", "HOST"),
]
