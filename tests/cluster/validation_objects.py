"""Validation in resources: objects that the API server must refuse or accept, as in wrong_objects."""

from typing import Any

from cluster.wrong_objects import ABSENT, POLICY, TOPIC, Json, Row, changed, wrong

_EVERY_FIELD: dict[str, Any] = {
    "mode": "Gate",
    "source": {"pulsar": {}},
    "sample": {"maxMessages": 1000, "percent": 50, "since": "168h", "seed": 7},
    "tolerance": {"maxInvalidPerMillion": 10},
    "activeDeadlineSeconds": 60,
    "ttlSecondsAfterFinished": 3600,
}
_AT = "spec.validation"
FULL = changed(POLICY, _AT, _EVERY_FIELD)
AUDITED = changed(POLICY, "spec.audit", {"schedule": "0 3 * * MON-FRI", "timeZone": "Europe/Berlin", "since": "24h"})
OWN = changed(TOPIC, _AT, {"mode": "Report", "sample": {"percent": 1}})
_FILES = {"files": {"uri": "s3://archive/orders/{topic}", "format": "Parquet"}}


def _wrong(sentence: str, path: str, value: Any, words: str, base: Json = FULL) -> Row:
    """Return the row of a wrong member of the validation, which the refusal names."""
    return wrong(sentence, base, f"{_AT}.{path}", value, words)


RIGHT_VALIDATIONS = [
    Row("every field of a validation", FULL, "metadata.labels", {}),
    Row("a topic with few fields", OWN, "metadata.labels", {}),
    Row("a topic without a field", OWN, _AT, {}),
    Row("messages of each topic in files", FULL, f"{_AT}.source", _FILES),
    *(
        Row(f"files without a format, {uri}", FULL, f"{_AT}.source", {"files": {"uri": uri}})
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
    *(Row(f"the schedule {each}", AUDITED, "spec.audit.schedule", each) for each in ("*/5 0-6 1,15 * ?", "@daily")),
]
WRONG_VALIDATIONS = [
    _wrong("a mode that is none", "mode", "Perhaps", "Gate"),
    _wrong("two sources", "source", {"pulsar": {}, **_FILES}, "one of pulsar and files"),
    _wrong("no source in source", "source", {}, "one of pulsar and files"),
    *(
        Row(f"files at {uri}", FULL, f"{_AT}.source", {"files": {"uri": uri}}, f"{_AT}.source.files.uri", words)
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
    _wrong("more than all", "sample.percent", 101, "less than or equal to 100"),
    _wrong("a time without a unit", "sample.since", "168", "should match"),
    _wrong("more than all invalid", "tolerance.maxInvalidPerMillion", 1_000_001, "less than or equal to 1000000"),
    _wrong("a week and a second", "activeDeadlineSeconds", 604_801, "less than or equal to 604800"),
    _wrong("a month and a second", "ttlSecondsAfterFinished", 2_592_001, "less than or equal to 2592000"),
    _wrong("no time at all", "activeDeadlineSeconds", 0, "equal to 1"),
    _wrong("gone before it is tried again", "ttlSecondsAfterFinished", 60, "equal to 3600"),
    *(
        wrong(f"the schedule {each!r}", AUDITED, "spec.audit.schedule", each, "write five fields of cron")
        for each in ("", "0 3 * *", "0 3 * * * *", "TZ=UTC 0 3 * * *", "@every 1h", "0 3 * * *\n")
    ),
    wrong("no schedule", AUDITED, "spec.audit.schedule", ABSENT, "Required value"),
    wrong("no time zone", AUDITED, "spec.audit.timeZone", "", "should match"),
    wrong("a time of an audit without a unit", AUDITED, "spec.audit.since", "24", "should match"),
    wrong("a proposal that is none", AUDITED, "spec.audit.proposed", "full", "Unsupported value"),
]
