"""Validation in resources: objects that the API server must refuse or accept, as in wrong_objects."""

from typing import Any

from cluster.wrong_objects import POLICY, TOPIC, Row, changed

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

RIGHT_VALIDATIONS = [
    Row("every field of a validation", FULL, "metadata.labels", {}),
    Row("a topic with few fields", OWN, "metadata.labels", {}),
    Row("a topic without a field", OWN, _AT, {}),
    Row("messages in files", OWN, f"{_AT}.source", _FILES),
    Row("files without a format", OWN, f"{_AT}.source", {"files": {"uri": "gs://archive"}}),
    Row(
        "files in a store that is not Amazon's",
        OWN,
        f"{_AT}.source",
        {"files": {"uri": "s3://archive/orders?endpoint_override=minio.archive.svc:9000&scheme=http"}},
    ),
    *(
        Row(f"files in a container, {number}", OWN, f"{_AT}.source", {"files": {"uri": uri}})
        for number, uri in enumerate(
            (
                "abfs://orders@account.dfs.core.windows.net/archive",
                "abfss://account.blob.core.windows.net/orders/archive",
                "abfs://account@orders/archive",
                "abfs://orders",
            )
        )
    ),
    Row("all of the messages", FULL, f"{_AT}.sample", {}),
    Row("a certificate", FULL, f"{_AT}.authentication", {"tls": {"secretRef": {"name": "reader"}}}),
    Row("one host", FULL, "spec.pulsar.serviceURL", "pulsar://127.0.0.1:6650/"),
]
WRONG_VALIDATIONS = [
    Row("a mode that is none", OWN, f"{_AT}.mode", "Perhaps", f"{_AT}.mode", "Gate"),
    Row("two sources", OWN, f"{_AT}.source", {"pulsar": {}, **_FILES}, f"{_AT}.source", "one of pulsar and files"),
    Row("no source in source", OWN, f"{_AT}.source", {}, f"{_AT}.source", "one of pulsar and files"),
    Row(
        "files of the host",
        OWN,
        f"{_AT}.source",
        {"files": {"uri": "file:///etc"}},
        f"{_AT}.source.files.uri",
        "s3://",
    ),
    Row(
        "files with a password",
        OWN,
        f"{_AT}.source",
        {"files": {"uri": "s3://key:secret@archive/orders"}},
        f"{_AT}.source.files.uri",
        "remove the credentials",
    ),
    *(
        Row(
            f"files at a host that is to get the account's token, {number}",
            OWN,
            f"{_AT}.source",
            {"files": {"uri": uri}},
            f"{_AT}.source.files.uri",
            words,
        )
        for number, (uri, words) in enumerate(
            (
                ("gs://archive/orders?endpoint_override=evil.example", "only s3:// takes options"),
                ("abfs://orders?blob_storage_authority=evil.example", "only s3:// takes options"),
                ("abfss://account@evil.example/orders", "write abfs://"),
                ("abfs://orders@account.dfs.core.windows.net.evil.example/a", "write abfs://"),
                ("abfs://account.dfs.core.windows.net:8443/orders", "write abfs://"),
                ("abfs://a@b@evil.example/orders", "write abfs://"),
                ("abfs://evil%2eexample/orders", "write abfs://"),
                ("abfs://evil.example%2f@orders", "write abfs://"),
            )
        )
    ),
    Row("no per cent", OWN, f"{_AT}.sample.percent", 0, f"{_AT}.sample.percent", "greater than or equal to 1"),
    Row("more than all", OWN, f"{_AT}.sample.percent", 101, f"{_AT}.sample.percent", "100 at most"),
    Row("a time without a unit", OWN, f"{_AT}.sample.since", "168", f"{_AT}.sample.since", "should match"),
    Row(
        "more than all invalid",
        FULL,
        f"{_AT}.tolerance.maxInvalidPerMillion",
        1_000_001,
        f"{_AT}.tolerance.maxInvalidPerMillion",
        "1000000 at most",
    ),
    Row("too many executors", OWN, f"{_AT}.executors", 65, f"{_AT}.executors", "64 at most"),
    Row(
        "a week and a second", OWN, f"{_AT}.activeDeadlineSeconds", 604_801, f"{_AT}.activeDeadlineSeconds", "604800 at"
    ),
    Row(
        "a month and a second",
        OWN,
        f"{_AT}.ttlSecondsAfterFinished",
        2_592_001,
        f"{_AT}.ttlSecondsAfterFinished",
        "2592000 at most",
    ),
    Row("no time at all", OWN, f"{_AT}.activeDeadlineSeconds", 0, f"{_AT}.activeDeadlineSeconds", "equal to 1"),
    Row(
        "gone before it is tried again",
        OWN,
        f"{_AT}.ttlSecondsAfterFinished",
        60,
        f"{_AT}.ttlSecondsAfterFinished",
        "equal to 3600",
    ),
    Row("no identity", FULL, f"{_AT}.authentication", {}, f"{_AT}.authentication", "one of token, oauth2 and tls"),
    Row(
        "a resource of the host",
        FULL,
        f"{_AT}.template.resources.limits",
        {"nvidia.com/gpu": "1"},
        f"{_AT}.template.resources.limits",
        "cpu, memory and ephemeral-storage",
    ),
    Row(
        "an amount that is none",
        FULL,
        f"{_AT}.template.resources.limits.memory",
        "much",
        f"{_AT}.template.resources.limits.memory",
        "should match",
    ),
    Row("an image with a space", FULL, f"{_AT}.template.image", "a b", f"{_AT}.template.image", "should match"),
    Row(
        "an effect that is none",
        FULL,
        f"{_AT}.template.tolerations",
        [{"effect": "No"}],
        f"{_AT}.template.tolerations[0].effect",
        "NoSchedule",
    ),
    Row("a broker by http", FULL, "spec.pulsar.serviceURL", "http://a:80", "spec.pulsar.serviceURL", "pulsar://"),
    Row("a broker with a user", FULL, "spec.pulsar.serviceURL", "pulsar://u@a:80", "spec.pulsar.serviceURL", "HOST"),
]
