"""What of the manifests is installed where there are no nodes."""

import base64
from pathlib import Path
from typing import Any

import pytest

from testbed import install
from testbed.errors import TestbedError


@pytest.fixture
def documents() -> list[dict[str, Any]]:
    client = {"service": {"name": "webhook", "namespace": "system", "path": "/review"}}
    return [
        {"kind": "ServiceAccount", "metadata": {"name": "controller"}},
        {"kind": "Deployment", "metadata": {"name": "controller"}},
        {
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "topicschema"},
            "webhooks": [{"name": "one", "failurePolicy": "Fail", "clientConfig": client}],
        },
    ]


def test_a_webhook_calls_the_given_url_with_the_shipped_path_and_keeps_the_rest(
    documents: list[dict[str, Any]], tmp_path: Path
) -> None:
    (tmp_path / "ca.crt").write_text("vouch", encoding="utf-8")

    kept = install.installable(documents, "https://127.0.0.1:9443/", tmp_path / "ca.crt")

    assert [document["kind"] for document in kept] == ["ServiceAccount", "ValidatingWebhookConfiguration"]
    assert kept[1]["webhooks"] == [
        {
            "name": "one",
            "failurePolicy": "Fail",
            "clientConfig": {"url": "https://127.0.0.1:9443/review", "caBundle": base64.b64encode(b"vouch").decode()},
        }
    ]


def test_without_a_url_there_is_no_webhook_configuration(documents: list[dict[str, Any]]) -> None:
    assert [document["kind"] for document in install.installable(documents, None, None)] == ["ServiceAccount"]


def test_a_url_without_a_ca_is_refused(documents: list[dict[str, Any]]) -> None:
    with pytest.raises(TestbedError, match="CA bundle"):
        install.installable(documents, "https://127.0.0.1:9443", None)
