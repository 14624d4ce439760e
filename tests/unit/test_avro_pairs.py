"""The generator of Avro pairs brings up what it is for, in useful shares, and the shrinker leaves what matters."""

import json
from collections import Counter

import pytest

import avro_features
import avro_pairs
from avro_asking import unreadable
from differential.shrinking import Pair, shrunk
from topicschema.core.errors import InvalidSchemaError

PAIRS = [avro_pairs.pair("shares", number) for number in range(1500)]
LEAST = {
    "type alias": 0.08,
    "field alias": 0.08,
    "namespace": 0.3,
    "recursion": 0.15,
    "union of records": 0.08,
    "enum default": 0.08,
    "logical type": 0.15,
    "promotion": 0.05,
    "odd default": 0.08,
    "changed default": 0.05,
    "renamed field": 0.06,
    "reordered fields": 0.04,
    "only one has the field": 0.25,
    "dollar": 0.01,
    "named before defined": 0.04,
    "defined twice": 0.04,
}


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


@pytest.fixture(scope="module")
def readable() -> list[Pair]:
    return [pair for pair in PAIRS if all(map(is_json, pair))]


def test_every_feature_occurs_in_a_useful_share(readable: list[Pair]) -> None:
    found = Counter(feature for pair in readable for feature in avro_features.of(*pair))
    assert found.keys() == LEAST.keys() | {"field default"}
    assert {name: found[name] for name, share in LEAST.items() if found[name] < share * len(PAIRS)} == {}


def test_a_quarter_of_the_pairs_can_be_read_and_a_quarter_cannot(readable: list[Pair]) -> None:
    verdicts = [can_read(*pair) for pair in readable]
    assert len(PAIRS) / 4 < sum(verdicts) < len(PAIRS) * 3 / 4


def can_read(reader: str, writer: str) -> bool:
    try:
        return not unreadable(json.loads(reader), json.loads(writer))
    except InvalidSchemaError:
        return False


def test_the_same_seed_makes_the_same_pairs() -> None:
    assert [avro_pairs.pair("shares", number) for number in range(50)] == PAIRS[:50]


def test_a_disagreement_is_shown_on_the_smallest_pair_that_has_it() -> None:
    fields = [{"name": each, "type": {"type": "array", "items": "int"}, "doc": "words"} for each in "abc"]
    large = json.dumps({"type": "record", "name": "R", "fields": fields})
    small = shrunk((large, large), lambda pairs: ['"b"' in one and "int" in other for one, other in pairs])
    assert small == ('{"name": "b"}', '{"items": "int"}')
