"""Recorded results of Avro 1.11.4, and of 1.12.0 with the broker's names: parsed texts, and schemas that are equal."""

import json
from pathlib import Path
from typing import Any

import pytest

from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats.avro import FORMAT, AvroSchema, fingerprint
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType

RECORDED = json.loads((Path(__file__).parent / "avro-parse-and-equality.json").read_text())


RECORDED_OF = {"1.11.4": "avro_1_11_4", "1.12.0": "avro_1_12_0_pulsar_names"}


def parsed(text: str, pulsar_version: PulsarVersion, *, validate_defaults: bool) -> AvroSchema:
    info = SchemaInfo(SchemaType.JSON, text.encode())
    return FORMAT.parse(info, pulsar_version, validate_defaults=validate_defaults)


def accepts(text: str, pulsar_version: PulsarVersion, *, validate_defaults: bool) -> bool:
    try:
        parsed(text, pulsar_version, validate_defaults=validate_defaults)
    except InvalidSchemaError:
        return False
    return True


@pytest.mark.parametrize("pulsar_version", PulsarVersion)
@pytest.mark.parametrize("case", RECORDED["parse"], ids=lambda case: repr(case["text"])[:60].replace("\\", "/"))
def test_a_text_is_accepted_if_avro_accepts_it(case: dict[str, Any], pulsar_version: PulsarVersion) -> None:
    recorded = case[RECORDED_OF[pulsar_version.avro]]
    assert (
        accepts(case["text"], pulsar_version, validate_defaults=False) is recorded["accept_without_default_validation"]
    )
    assert accepts(case["text"], pulsar_version, validate_defaults=True) is recorded["accept_with_default_validation"]


@pytest.mark.parametrize("pulsar_version", PulsarVersion)
@pytest.mark.parametrize("case", RECORDED["schema_equality_used_for_dedupe"], ids=lambda case: case["id"])
def test_schemas_are_equal_if_they_are_equal_to_avro(case: dict[str, Any], pulsar_version: PulsarVersion) -> None:
    a = parsed(case["a"], pulsar_version, validate_defaults=False)
    b = parsed(case["b"], pulsar_version, validate_defaults=False)
    assert (a.fingerprint == b.fingerprint) is case["equal"]
    assert fingerprint.equal(a.root, b.root) is case["equal"]
