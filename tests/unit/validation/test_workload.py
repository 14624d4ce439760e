"""The estimate of a run's work, and the number of executors that it needs."""

from dataclasses import replace
from typing import Final

import pytest

from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.validation.request import FileSource, Sample, ValidationRequest
from topicschema.validation.run.workload import Workload
from topicschema.validation.sources import Plan, Split

AVRO: Final = ValidationRequest(
    SchemaInfo(SchemaType.AVRO, b'"long"'), {}, "orders", files=FileSource(("orders",)), max_executors=8
)
JSON: Final = replace(AVRO, candidate=SchemaInfo(SchemaType.JSON, b'"long"'))


def plan(messages: int, size: float = 0) -> Plan:
    return Plan((Split(None, messages),) if messages else (), bytes=size)


def seconds(request: ValidationRequest, plan: Plan) -> float:
    return Workload.of(request, plan).seconds


def test_json_takes_longer_than_avro_and_a_large_message_counts_as_several() -> None:
    million = plan(1_000_000)
    assert seconds(JSON, million) > 5 * seconds(AVRO, million)
    assert seconds(AVRO, plan(1_000_000, 5e9)) == pytest.approx(10 * seconds(AVRO, million))
    assert seconds(AVRO, plan(1_000_000, 1.0)) == seconds(AVRO, million)


def test_a_sample_spares_verdicts_and_no_reading() -> None:
    sampled = replace(JSON, sample=Sample(percent=10))
    whole, read = seconds(JSON, plan(1_000_000)), seconds(replace(JSON, candidate=AVRO.candidate), plan(1_000_000))
    assert read < seconds(sampled, plan(1_000_000)) < whole / 4


@pytest.mark.parametrize(
    ("messages", "most", "expected"),
    [(0, 8, 0), (1_000_000, 8, 0), (100_000_000, 8, 8), (100_000_000, 64, 35), (100_000_000, 3, 3), (10**9, 0, 0)],
)
def test_executors_are_as_many_as_bring_a_long_run_to_a_minute(messages: int, most: int, expected: int) -> None:
    request = replace(JSON, max_executors=most)
    assert Workload.of(request, plan(messages)).executors(request) == expected


def test_the_installation_decides_how_long_one_pod_may_take() -> None:
    request = replace(AVRO, spark_from_milliseconds=1)
    assert Workload.of(request, plan(20_000)).executors(request) == 8
    assert Workload.of(request, plan(1)).executors(request) == 0
