import gc
import json
import logging
import sys

import pytest

from topicschema import telemetry
from topicschema.telemetry import Census, Counter, Gauge, Health, Histogram, JsonLines


def line(message: str, **more: object) -> dict[str, object]:
    record = logging.makeLogRecord({"name": "room", "levelname": "INFO", "msg": message, **more})
    told: dict[str, object] = json.loads(JsonLines().format(record))
    return told


def test_a_log_record_is_one_line_of_json_with_its_fields() -> None:
    told = line("settled", fields={"namespace": "shop", "reason": "Registered"})
    assert {key: told[key] for key in ("level", "logger", "message", "namespace", "reason")} == {
        "level": "info",
        "logger": "room",
        "message": "settled",
        "namespace": "shop",
        "reason": "Registered",
    }


def test_a_log_line_stays_one_line_and_within_bounds() -> None:
    record = logging.makeLogRecord({"msg": "a\nb" * 5000})
    text = JsonLines().format(record)
    assert "\n" not in text
    assert len(text) < 8000


def test_of_a_foreign_error_the_log_tells_type_and_place_but_never_its_text() -> None:
    text = "the whole schema"
    try:
        int(text)
    except ValueError:
        told = line("a bug", exc_info=sys.exc_info())
    assert "ValueError" in str(told["error"])
    assert "test_telemetry" in str(told["error"])
    assert text not in str(told["error"])


@pytest.fixture
def metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry, "METRICS", [])


@pytest.mark.usefixtures("metrics")
def test_metrics_are_told_in_prometheus_text_format() -> None:
    counter, gauge = Counter("seen_total", "What was seen.", ("kind",)), Gauge("level", "How high.")
    durations = Histogram("seconds", "How long.", ("kind",))
    counter.add("a")
    counter.add('quote " backslash \\ newline \n', amount=2)
    gauge.set(3)
    for seconds in (0.001, 0.3, 60):
        durations.observe(seconds, "a")
    text = telemetry.exposition().splitlines()
    assert text[:4] == [
        "# HELP seen_total What was seen.",
        "# TYPE seen_total counter",
        'seen_total{kind="a"} 1',
        'seen_total{kind="quote \\" backslash \\\\ newline \\n"} 2',
    ]
    assert "level 3" in text
    assert 'seconds_bucket{kind="a",le="0.001"} 1' in text
    assert 'seconds_bucket{kind="a",le="0.5"} 2' in text
    assert 'seconds_bucket{kind="a",le="+Inf"} 3' in text
    assert 'seconds_count{kind="a"} 3' in text


@pytest.mark.usefixtures("metrics")
def test_a_sample_without_one_of_its_labels_is_a_bug() -> None:
    Counter("seen_total", "What was seen.", ("kind", "reason")).add("a")
    with pytest.raises(ValueError, match="zip"):
        telemetry.exposition()


def test_who_stands_by_is_ready_once_it_could_work_and_always_alive() -> None:
    health = Health(0.0, lambda: False, 2)
    assert not health.is_ready
    health.is_served = True
    assert health.is_ready
    assert health.is_alive


def test_who_leads_is_ready_when_all_kinds_were_heard_of_and_dead_after_a_long_silence() -> None:
    patient, impatient = Health(1e9, lambda: True, 2), Health(0.0, lambda: True, 2)
    for health in (patient, impatient):
        health.hear("topicschemas")
    assert not patient.is_ready
    patient.hear("namespaces")
    assert patient.is_ready
    assert patient.is_alive
    assert not impatient.is_alive


def test_a_census_counts_what_is_there_and_nothing_that_is_gone() -> None:
    class Thing:
        pass

    census, here, gone = Census("census", "Things.", ("of",)), Thing(), Thing()
    try:
        for thing in (here, gone, here):
            census.enter(thing, "a")
        assert census.value("a") == 2
        del thing, gone
        gc.collect()
        assert list(census.samples()) == [("", '{of="a"}', 1)]
        census.leave(here, "a")
        census.leave(here, "b")
        assert (census.value("a"), census.value("b"), census.value("c")) == (0, 0, 0)
    finally:
        telemetry.METRICS.remove(census)
