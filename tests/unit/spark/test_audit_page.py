"""The page of an audit in a real browser: hostile names are text, and all topics are there."""

import os
import re
import shutil
import subprocess
from datetime import date
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from testbed import packages
from testbed.progress import Progress
from topicschema.spark.audit.page import TopicOnPage, page

HOSTILE = """persistent://a/b/<img src=x onerror="document.title='changed'"><script>document.title='changed'</script>"""


def topic(name: str, error: str | None = None, bad: int = 0) -> TopicOnPage:
    row: dict[str, Any] = {"topic": name, "error": error, "messages": None if error else 1_000}
    row |= {"messages_without_version": 0, "version_in_use": 3, "forgettable_versions": [0, 1]}
    made = TopicOnPage(row, {"losses": 0, "unreadable": bad})
    if not error:
        made.days[2][date(2026, 11, 1)] = 400
        made.days[3][date(2026, 11, 9)] = 600
        finding = {"rule": None, "reason": "TRUNCATED", "path": "$.<b>id</b>", "schema_version": 2, "messages": bad}
        made.findings.extend([finding] if bad else [])
    return made


@pytest.mark.full
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_chromium_shows_each_topic_and_runs_nothing(tmp_path: Path, scheme: str) -> None:
    if packages.supply({"chromium": "chromium"}, Progress()):
        pytest.skip("Chromium is missing")
    topics = [
        topic(HOSTILE, bad=7),
        topic("persistent://a/b/gone", "<i>no</i> permission"),
        topic("persistent://a/b/c"),
    ]
    file = tmp_path / "audit.html"
    file.write_text(page(topics, topics), encoding="utf-8")
    picture = tmp_path / "audit.png"
    command = [shutil.which("chromium") or "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"]
    command += ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"]
    command += [f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=2000", f"--screenshot={picture}"]
    command += ["--dump-dom", *(["--force-dark-mode"] if scheme == "dark" else []), file.as_uri()]
    environment = {**os.environ, "HOME": str(tmp_path)}
    shown = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=120)
    document = shown.stdout
    assert "<title>Audit of retained messages</title>" in document
    assert "Refused to" not in shown.stderr
    rows = re.findall(r'<tr><td class="long">(.*?)</td>', document)
    assert [unescape(each) for each in rows] == [each.topic["topic"] for each in topics]
    assert document.count("<svg") >= 4
    assert not re.search(r"<(script|img)[ >]", document)
    assert picture.read_bytes().startswith(b"\x89PNG")
