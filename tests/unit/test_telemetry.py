import gc
import json
import logging
import sys

import aiohttp
from prometheus_client import CollectorRegistry, Gauge

from testbed import ports
from topicschema import telemetry
from topicschema.telemetry import CallbackGauge, ControllerHealth, JsonFormatter


def line(message: str, **more: object) -> dict[str, object]:
    record = logging.makeLogRecord({"name": "app", "levelname": "INFO", "msg": message, **more})
    entry: dict[str, object] = json.loads(JsonFormatter().format(record))
    return entry


def test_a_log_record_is_one_line_of_json_with_its_fields() -> None:
    entry = line("settled", fields={"namespace": "shop", "reason": "Registered"})
    assert {key: entry[key] for key in ("level", "logger", "message", "namespace", "reason")} == {
        "level": "info",
        "logger": "app",
        "message": "settled",
        "namespace": "shop",
        "reason": "Registered",
    }


def test_a_log_line_stays_one_line_and_within_bounds() -> None:
    record = logging.makeLogRecord({"msg": "a\nb" * 5000})
    text = JsonFormatter().format(record)
    assert "\n" not in text
    assert len(text) < 8000


def test_the_log_of_an_unknown_error_has_its_type_and_place_but_not_its_text() -> None:
    text = "the whole schema"
    try:
        int(text)
    except ValueError:
        entry = line("a bug", exc_info=sys.exc_info())
    assert "ValueError" in str(entry["error"])
    assert "test_telemetry" in str(entry["error"])
    assert text not in str(entry["error"])


async def scrape(accept: str = "*/*") -> tuple[str, str]:
    """Return the content type and the text of a process's metrics."""
    port = ports.free()
    async with (
        telemetry.serve(ControllerHealth(1e9, lambda: False, 0), port),
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{port}/metrics", headers={"Accept": accept}) as response,
    ):
        return response.headers["Content-Type"], await response.text()


async def test_metrics_are_served_in_prometheus_text_format() -> None:
    quoted = 'quote " backslash \\ newline \n'
    telemetry.VALIDATIONS.labels(quoted).inc(2)
    for seconds in (0.001, 0.3, 60):
        telemetry.BROKER_REQUEST_DURATION.labels("scraped").observe(seconds)
    content_type, text = await scrape()
    assert content_type.startswith("text/plain; version=0.0.4")
    lines = text.splitlines()
    assert "# TYPE topicschema_validations_total counter" in lines
    assert 'topicschema_validations_total{phase="quote \\" backslash \\\\ newline \\n"} 2.0' in lines
    assert "topicschema_leader_election_is_leader 0.0" in lines
    histogram = "topicschema_broker_request_duration_seconds"
    for limit, count in (("0.001", 1), ("0.5", 2), ("+Inf", 3)):
        assert f'{histogram}_bucket{{le="{limit}",operation="scraped"}} {count}.0' in lines
    assert f'{histogram}_count{{operation="scraped"}} 3.0' in lines
    assert "_created" not in text


async def test_a_counter_above_a_million_counts_each_step() -> None:
    for more in (1_234_567, 1):
        telemetry.VALIDATIONS.labels("Many").inc(more)
    _, text = await scrape()
    (line,) = (line for line in text.splitlines() if line.startswith('topicschema_validations_total{phase="Many"}'))
    assert float(line.rpartition(" ")[2]) == 1_234_568


async def test_a_request_for_openmetrics_gets_openmetrics() -> None:
    content_type, text = await scrape("application/openmetrics-text; version=1.0.0")
    assert content_type.startswith("application/openmetrics-text; version=1.0.0")
    assert text.endswith("# EOF\n")


def test_a_standby_is_ready_once_it_is_served_and_always_alive() -> None:
    health = ControllerHealth(0.0, lambda: False, 2)
    assert not health.is_ready
    health.is_served = True
    assert health.is_ready
    assert health.is_alive


def test_a_leader_is_ready_once_all_kinds_are_active_and_dead_after_a_long_silence() -> None:
    tolerant, strict = ControllerHealth(1e9, lambda: True, 2), ControllerHealth(0.0, lambda: True, 2)
    for health in (tolerant, strict):
        health.record_activity("topicschemas")
    assert not tolerant.is_ready
    tolerant.record_activity("namespaces")
    assert tolerant.is_ready
    assert tolerant.is_alive
    assert not strict.is_alive


def test_only_a_leader_counts_conditions_and_no_series_outlives_its_resources() -> None:
    labels = ("TopicSchema", "shop", "Ready", "False", "Incompatible")
    counts, is_leading = {labels: 2}, True
    health = ControllerHealth(1e9, lambda: is_leading, 0, conditions=lambda: counts)

    def value() -> float | None:
        names = ("kind", "namespace", "condition", "status", "reason")
        return telemetry.REGISTRY.get_sample_value(
            "topicschema_resource_condition", dict(zip(names, labels, strict=True))
        )

    health.collect()
    assert value() == 2
    is_leading = False
    health.collect()
    assert value() is None
    is_leading, counts = True, {}
    health.collect()
    assert value() is None


def test_a_callback_gauge_counts_its_members_but_none_that_was_garbage_collected() -> None:
    class Thing:
        pass

    def count() -> float | None:
        return registry.get_sample_value("members")

    registry = CollectorRegistry()
    gauge, here, gone = CallbackGauge(Gauge("members", "Things.", registry=registry)), Thing(), Thing()
    for thing in (here, gone, here):
        gauge.add(thing)
    assert count() == 2
    del thing, gone
    gc.collect()
    assert count() == 1
    gauge.discard(here)
    assert count() == 0
