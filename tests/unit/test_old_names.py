"""Names that were replaced do not come back. Documents, charts and dashboards use the new ones alone."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("operator", "charts", "manifests", "crds", "images", "docs", "tests")
METRICS = (
    "bugs_total",
    "reconciles_total",
    "reconcile_seconds",
    "queue_depth",
    "topicschema_leader",
    "reviews_total",
    "review_seconds",
    "broker_seconds",
    "broker_circuits_open",
    "broker_settings_total",
    "events_lost_total",
)
ALERTS = (
    "QueueStands",
    "PassesFail",
    "BrokerAway",
    "BrokerAnswersWrong",
    "EditsFail",
    "TopicSchemaBug",
    "SettingsContested",
)
SETTINGS = ("SILENCE_LIMIT", "TOPICSCHEMA_STORAGE", "TOPICSCHEMA_STORAGE_URL")
LOG_MESSAGES = (
    "a bug",
    "an Event was lost",
    "kopf does not end",
    "no page",
    "no report",
    "no sweep",
    "not settled",
    "report not kept",
    "swept",
    "the watch ended and begins anew",
)
REASONS = (
    "BrokerUntrusted",
    "ForeignVersion",
    "InForce",
    "InvalidQuestion",
    "NamespaceMissing",
    "NotLocked",
    "OtherLine",
    "PolicyMissing",
    "ReleasedUndeleted",
    "SchemaMissing",
    "SecretMissing",
    "SettingKept",
    "TenantMissing",
    "TopicClaimed",
    "TopicMissing",
    "UndeclaredTopics",
    "lockUndeclared",
    "undeclaredTopicCount",
    "undeclaredTopics",
    "ValuesShown",
)
RULES = (
    "ENDLESS_DEFAULT",
    "ENDLESS_RECORD",
    "PART_AS_TEXT",
    "PROGRAM_TOO_LARGE",
    "STORED_TEXT_KEPT",
    "TANGLED_RECORDS",
    "TOO_COSTLY",
    "UNION_BRANCH_GUESSED",
)
CLASSES = (
    "BrokerUntrustedError",
    "Doorbell",
    "Echoes",
    "ElsewhereError",
    "FilesAsked",
    "Inquiry",
    "Lanes",
    "NamespaceLooks",
    "Neighbours",
    "OAuth2Asked",
    "Outages",
    "Patience",
    "Prospect",
    "PulsarAsked",
    "SecretMissingError",
    "ServedNoMoreError",
    "SharedReads",
    "Sought",
    "StopAsking",
    "Surroundings",
    "TopicMissingError",
    "TopicSight",
    "Withheld",
    "WrongInputError",
)
SPELLING = re.compile("finali[s]er", re.IGNORECASE)


def texts() -> Iterator[tuple[str, str]]:
    """Yield path and text of each file of the product and its tests, but for this one."""
    for path in (ROOT / "README.md", *(path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*")))):
        if path.suffix in {".md", ".py", ".yaml", ".json", ".tpl", ".txt", ".sh"} and path != Path(__file__):
            yield str(path.relative_to(ROOT)), path.read_text()


def found(pattern: re.Pattern[str]) -> set[tuple[str, str]]:
    """Return in which files something matches, and what."""
    return {(path, match[0]) for path, text in texts() for match in pattern.finditer(text)}


def test_old_metrics_alerts_and_settings_are_gone() -> None:
    names = "|".join((*METRICS, *ALERTS, *SETTINGS))
    assert found(re.compile(rf"\b(topicschema_|TopicSchema|TOPICSCHEMA_)?({names})(_bucket|_count|_sum)?\b")) == set()


def test_old_log_messages_are_gone() -> None:
    assert found(re.compile(rf'_LOG\.\w+\([^"]*"({"|".join(LOG_MESSAGES)})\b')) == set()


def test_old_reasons_and_rules_are_gone() -> None:
    assert found(re.compile(rf"\b({'|'.join((*REASONS, *RULES))})\b")) == set()


def test_old_class_names_are_gone() -> None:
    assert found(re.compile(rf"\b({'|'.join(CLASSES)})\b")) == set()


def test_finalizer_is_spelled_as_in_kubernetes() -> None:
    assert found(SPELLING) == set()
