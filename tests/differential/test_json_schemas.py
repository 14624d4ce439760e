"""JSON that Avro does not parse: what the broker's validator and its checker make of it, beside our reading of Jackson.

Texts are made around the members that Jackson's classes know, some with a value that does not belong there.
"""

import itertools
import json
import random
from typing import Any

import pytest

from differential import oracle, seeds
from topicschema.core.broker_errors import BrokerError
from topicschema.core.clients import Client, ConnectResult, TopicState, connect
from topicschema.core.formats.key_value import KeyValue, Part, encode
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy

pytestmark = pytest.mark.differential

REST = {PulsarVersion.V4_0: 0, PulsarVersion.V4_1: 1 / 50}
"""Share of texts with another mistake first: Avro 1.12, of 4.1, resolves names when all else is read. Here 1 in 200."""
TYPES = ("any", "array", "boolean", "integer", "null", "number", "object", "string")
SCALARS = ("null", "true", "0", "-7", "1.5", "3e9", "1e400", '""', '" "', '"a"', '"False"', '" 12 "', '"1.5"', '"NaN"')
PLAIN = (
    *("id", "$ref", "$schema", "description", "default", "title", "pathStart", "required", "readonly", "enum"),
    *("format", "format", "oneOf", "maxItems", "minItems", "uniqueItems", "divisibleBy", "exclusiveMaximum"),
    *("exclusiveMinimum", "maximum", "minimum", "multipleOf", "maxLength", "minLength", "pattern", "dependencies"),
    *("unknown", "type"),
)
OF_SCHEMAS = (
    *("disallow", "extends", "links", "additionalItems", "items", "itemsSchema", "additionalProperties"),
    *("patternProperties", "properties"),
)
ANSWERS = {None: "yes", BrokerError.INCOMPATIBLE_SCHEMA: "no"}


def texts(seed: str) -> list[str]:
    return [_text(random.Random(f"json schemas {seed} {number}")) for number in range(seeds.PAIRS // 4)]  # noqa: S311


def _text(chance: random.Random) -> str:
    if chance.random() < 0.1:
        return f"[{_value(chance)}, {_schema(chance, 2)}]"
    return _schema(chance, 3)


def _schema(chance: random.Random, depth: int) -> str:
    kind = chance.choice(TYPES) if depth < 3 else chance.choice(("any", "array", "object", "integer"))
    members = [f'"type": {json.dumps(kind) if chance.random() < 0.97 else _value(chance)}']
    members += [_member(chance, depth) for _ in range(chance.randrange(4))]
    chance.shuffle(members)
    return f"{{{', '.join(members)}}}"


def _member(chance: random.Random, depth: int) -> str:
    if depth > 0 and chance.random() < 0.5:
        name, inner = chance.choice(OF_SCHEMAS), _schema(chance, depth - 1)
        shape = chance.choice(("{}", "[{}]", '{{"a": {}}}', '["any", {}]', '[{{"schema": {}}}]', "[null, {}]"))
        return f'"{name}": {shape.format(inner)}'
    return f'"{chance.choice(PLAIN)}": {_value(chance)}'


def _value(chance: random.Random) -> str:
    inner = chance.choice(SCALARS)
    return chance.choice((inner, inner, inner, f"[{inner}]", f'{{"a": {inner}}}', '"any"'))


def alone(text: str) -> SchemaInfo:
    return SchemaInfo(SchemaType.JSON, text.encode())


def paired(text: str) -> SchemaInfo:
    return encode(KeyValue(Part(SchemaInfo(SchemaType.STRING)), Part(alone(text))))


def ours(connection: ConnectResult) -> str:
    return ANSWERS.get(connection.error, "error")


def theirs(answer: dict[str, Any]) -> str:
    return {True: "yes", False: "no"}.get(answer["verdict"], "error")


@pytest.mark.timeout(900)
@pytest.mark.parametrize("pulsar_version", oracle.AVRO_VERSIONS)
def test_json_that_avro_does_not_parse_is_to_clients_what_it_is_to_the_brokers_classes(
    pulsar_version: PulsarVersion,
) -> None:
    written = [text for seed in seeds.SEEDS.values() for text in texts(seed)]
    sent = [shape(text) for text in written for shape in (alone, paired)]
    pairs = [(alone(one), alone(other)) for one, other in itertools.pairwise(written) if one != other]
    own = [connect(Client.PRODUCER, each, TopicState(pulsar_version=pulsar_version)) for each in sent]
    own += [
        connect(Client.CONSUMER, each, TopicState((known,), Strategy.FORWARD, pulsar_version=pulsar_version))
        for known, each in pairs
    ]
    validations = ({"op": "validate", "schema": oracle.wire(each)} for each in sent)
    checks = (oracle.check(each, Strategy.BACKWARD, known) for known, each in pairs)
    answers = oracle.query([*validations, *checks], oracle.BROKER, oracle.BROKER_OF[pulsar_version])
    differing = [each for each in zip((*sent, *pairs), own, answers, strict=True) if ours(each[1]) != theirs(each[2])]
    assert {theirs(each) for each in answers} == {"yes", "no", "error"}
    assert len(differing) <= REST[pulsar_version] * len(answers), (seeds.SEEDS, differing)
