"""Our reading of PROTOBUF_NATIVE envelopes beside the broker's own, on random descriptors; a seed names each."""

import base64
import json

import pytest

from differential import oracle
from support.schemas import avro_schemas, protobuf_schemas
from support.sizes import sized
from topicschema.core import compatibility, formats
from topicschema.core.compatibility import Predecessor
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats.protobuf_native import ProtobufNativeSchema
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy

pytestmark = pytest.mark.differential

SEEDS = {PulsarVersion.V4_0: range(sized(1_000, 4_000)), PulsarVersion.V5_0: range(sized(300, 4_000))}
"""By the Pulsar version: 4.1 and 4.2 have the library of 4.0."""
# What the broker takes, or takes by chance, and is refused here on purpose; docs/spec/protobuf-native.md names each.
STRICTER = ("more than one imported file defines the name", "is not UTF-8", "has extensions only")


def info_of(envelope: bytes) -> SchemaInfo:
    return SchemaInfo(SchemaType.PROTOBUF_NATIVE, envelope)


def parsed(envelope: bytes, pulsar_version: PulsarVersion) -> ProtobufNativeSchema | InvalidSchemaError:
    try:
        schema = formats.parse(info_of(envelope), pulsar_version)
    except InvalidSchemaError as error:
        return error
    assert isinstance(schema, ProtobufNativeSchema)
    return schema


def compare(envelopes: list[bytes], pulsar_version: PulsarVersion) -> int:
    """Return the number that the broker accepts. Each has the same root message here, unless refused on purpose."""
    requests = ({"op": "root", "schema": oracle.wire(info_of(each))} for each in envelopes)
    answers = oracle.query(requests, oracle.BROKER, oracle.BROKER_OF[pulsar_version])
    taken = 0
    for envelope, answer in zip(envelopes, answers, strict=True):
        schema = parsed(envelope, pulsar_version)
        if isinstance(schema, InvalidSchemaError):
            on_purpose = any(words in schema.message for words in STRICTER)
            assert answer["verdict"] is not True or on_purpose, (envelope, answer, schema.sentence)
        else:
            assert answer.get("result") == schema.descriptors.root.full_name, (envelope, answer)
        taken += answer["verdict"] is True
    return taken


@pytest.mark.parametrize("pulsar_version", SEEDS)
def test_an_envelope_is_taken_exactly_where_the_broker_takes_it_and_has_the_same_root_message(
    pulsar_version: PulsarVersion,
) -> None:
    seeds = SEEDS[pulsar_version]
    envelopes = [protobuf_schemas.random_envelope(avro_schemas.seeded(seed), seed % 4) for seed in seeds]
    assert len(envelopes) / 8 < compare(envelopes, pulsar_version) < len(envelopes) * 7 / 8


@pytest.mark.parametrize("pulsar_version", SEEDS)
def test_bytes_that_were_damaged_are_taken_exactly_where_the_broker_takes_them(pulsar_version: PulsarVersion) -> None:
    damaged = []
    for seed in SEEDS[pulsar_version]:
        random = avro_schemas.seeded(f"damaged {seed}")
        envelope = json.loads(protobuf_schemas.random_envelope(random, 0))
        content = bytearray(base64.b64decode(envelope["fileDescriptorSet"]))
        at = random.randrange(len(content))
        content[at : at + random.randrange(3)] = bytes(random.randrange(256) for _ in range(random.randrange(3)))
        envelope["fileDescriptorSet"] = base64.b64encode(bytes(content)).decode()
        damaged.append(json.dumps(envelope).encode())
    assert len(damaged) / 80 < compare(damaged, pulsar_version) < len(damaged)


@pytest.mark.parametrize("pulsar_version", SEEDS)
def test_an_envelope_may_follow_exactly_if_the_brokers_checker_accepts_it(pulsar_version: PulsarVersion) -> None:
    envelopes = (protobuf_schemas.random_envelope(avro_schemas.seeded(seed), 0) for seed in range(60))
    read = (parsed(each, pulsar_version) for each in envelopes)
    schemas = [each for each in read if isinstance(each, ProtobufNativeSchema)]
    cases = [
        (schemas[index], schemas[index + step], strategy)
        for index in range(len(schemas) - 3)
        for step in (0, 1, 3)
        for strategy in Strategy
        if strategy is not Strategy.ALWAYS_COMPATIBLE and (step or strategy.is_transitive)
    ]
    answers = oracle.query(
        (oracle.check(candidate.info, strategy, earlier.info) for earlier, candidate, strategy in cases),
        oracle.BROKER,
        oracle.BROKER_OF[pulsar_version],
    )
    for (earlier, candidate, strategy), answer in zip(cases, answers, strict=True):
        incompatibilities = compatibility.check(candidate, [Predecessor(0, earlier.info.type, earlier)], strategy)
        assert (not incompatibilities) == (answer["verdict"] is True), (candidate.info, strategy, answer)
