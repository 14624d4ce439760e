"""Readers and writers: the recorded verdicts of Avro's validator, 1.11.4 and 1.12.0.

They are of the check alone, so the parse does not validate defaults. A recorded exception is a no, and a pair with a
union at the top is of type JSON, since AVRO refuses those.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats.avro import FORMAT, avro_version
from topicschema.core.formats.avro.model import Node
from topicschema.core.formats.avro.resolution import resolver
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType

HERE = Path(__file__).parent
EDGE_CASES: list[dict[str, Any]] = json.loads((HERE / "avro-edge-cases.json").read_text())
RANDOM_PAIRS: list[dict[str, Any]] = json.loads((HERE / "avro-random-pairs.json").read_text())
VALIDATOR_OF = {each: avro_version.of(each).value for each in PulsarVersion}


def parsed(schema: Any, kind: SchemaType, pulsar_version: PulsarVersion) -> Node:
    return FORMAT.parse(SchemaInfo(kind, json.dumps(schema).encode()), pulsar_version, validate_defaults=False).root


def reads(case: dict[str, Any], pulsar_version: PulsarVersion = PulsarVersion.V4_0) -> bool:
    reader, writer = case["reader"], case["writer"]
    kind = SchemaType.JSON if isinstance(reader, list) or isinstance(writer, list) else SchemaType.AVRO
    try:
        return not resolver.unreadable(
            parsed(reader, kind, pulsar_version), parsed(writer, kind, pulsar_version), avro_version.of(pulsar_version)
        )
    except InvalidSchemaError:
        return False


@pytest.mark.parametrize("pulsar_version", PulsarVersion)
@pytest.mark.parametrize("case", EDGE_CASES, ids=lambda case: case["id"])
def test_an_edge_case_is_judged_as_avro_judges_it(case: dict[str, Any], pulsar_version: PulsarVersion) -> None:
    assert reads(case, pulsar_version) == (case["pulsar_can_read"][VALIDATOR_OF[pulsar_version]] is True)


def test_random_pairs_are_judged_as_avro_judges_them() -> None:
    wrong = [case for case in RANDOM_PAIRS if reads(case) != (case["pulsar_can_read"] is True)]
    assert wrong == []
    assert len(RANDOM_PAIRS) == 1500
