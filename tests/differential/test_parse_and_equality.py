"""Our parser beside Avro's own, on random texts that may be broken in any way; a seed names each text."""

import json
from typing import Any

import pytest

from differential import oracle
from support.schemas import avro_schemas
from topicschema.core import broker_errors
from topicschema.core.broker_errors import BrokerError
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats.avro import FORMAT
from topicschema.core.formats.avro.model import Node
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType

pytestmark = pytest.mark.differential

SEEDS = range(2500)


def parsed(text: str, pulsar_version: PulsarVersion, *, validate_defaults: bool) -> Node | None:
    info = SchemaInfo(SchemaType.JSON, text.encode("utf-8"))
    try:
        return FORMAT.parse(info, pulsar_version, validate_defaults=validate_defaults).root
    except InvalidSchemaError:
        return None


def text_of(seed: int) -> str:
    rng = avro_schemas.seeded(seed)
    return avro_schemas.spoilt(rng) if seed % 2 else json.dumps(avro_schemas.schema(rng))


@pytest.mark.parametrize("pulsar_version", oracle.AVRO_VERSIONS)
def test_a_text_is_taken_exactly_where_avro_takes_it(pulsar_version: PulsarVersion) -> None:
    requests: list[dict[str, Any]] = [
        {"op": "parse", "text": text_of(seed), "validate": validate} for seed in SEEDS for validate in (False, True)
    ]
    answers = oracle.query(requests, class_path=oracle.AVRO_OF[pulsar_version])
    ours = [
        parsed(request["text"], pulsar_version, validate_defaults=request["validate"]) is not None
        for request in requests
    ]
    theirs = [answer["verdict"] is True for answer in answers]
    assert [r for r, a, b in zip(requests, ours, theirs, strict=True) if a != b] == []
    assert len(requests) / 4 < sum(ours) < len(requests) * 3 / 4  # the generator tries both sides


@pytest.mark.parametrize("pulsar_version", oracle.AVRO_VERSIONS)
def test_of_two_faults_the_one_that_avro_meets_first_counts(pulsar_version: PulsarVersion) -> None:
    """Compare the exceptions: the broker responds 500 to each but SchemaParseException."""
    texts = [avro_schemas.spoilt_twice(avro_schemas.seeded(seed)) for seed in SEEDS]
    answers = oracle.query(
        ({"op": "parse", "text": text, "validate": False} for text in texts), class_path=oracle.AVRO_OF[pulsar_version]
    )
    theirs = [_error_of(answer["verdict"]) for answer in answers]
    assert [
        (text, error)
        for text, error in zip(texts, theirs, strict=True)
        if predicted_error(text, pulsar_version) != error
    ] == []
    assert set(theirs) == {None, *TEXT_ERRORS}


TEXT_ERRORS = (BrokerError.INCOMPATIBLE_SCHEMA, BrokerError.UNKNOWN_ERROR)


def predicted_error(text: str, pulsar_version: PulsarVersion) -> BrokerError | None:
    info = SchemaInfo(SchemaType.PROTOBUF, text.encode())
    try:
        FORMAT.parse(info, pulsar_version, validate_defaults=False)
    except InvalidSchemaError as invalid:
        return broker_errors.of_unreadable(info.type, invalid, pulsar_version, is_latest_only=True)
    return None


def _error_of(verdict: object) -> BrokerError | None:
    return None if verdict is True else TEXT_ERRORS[verdict is not False]


BOUNDS = {
    '{"type":"array","items":' * 1000 + '"int"' + "}" * 1000: True,
    '{"type":"array","items":' * 1001 + '"int"' + "}" * 1001: False,
    '{"type":"int","x":-' + "1" * 1000 + "}": True,
    '{"type":"int","x":' + "1" * 1001 + "}": False,
    '{"type":"int","x":' + "1" * 500 + "." + "1" * 500 + "}": True,
    '{"type":"int","x":' + "1" * 500 + "." + "1" * 500 + "e-1}": False,
    '{"type":"int","' + "é" * 50_000 + '":1}': True,
    '{"type":"int","' + "é" * 50_001 + '":1}': False,
    '{"type":"int","x":"' + "é" * 50_001 + '"}': True,
    '"int" \x00\x0b\x1f': True,
    '"int" // no': False,
    '/* yes */ "int"': True,
    '/* \x00 */ "int"': False,
    '// \x00\n"int"': False,
    "[" + '"int",' * 3 + "]": False,
}


@pytest.mark.parametrize("pulsar_version", oracle.AVRO_VERSIONS)
def test_the_bounds_of_the_brokers_json_reader_are_ours(pulsar_version: PulsarVersion) -> None:
    requests = [{"op": "parse", "text": text, "validate": True} for text in BOUNDS]
    answers = oracle.query(requests, class_path=oracle.AVRO_OF[pulsar_version])
    assert [answer["verdict"] for answer in answers] == list(BOUNDS.values())
    assert [parsed(text, pulsar_version, validate_defaults=True) is not None for text in BOUNDS] == list(
        BOUNDS.values()
    )
