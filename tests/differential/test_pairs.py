"""All verdicts on two schemas beside Avro's own library, for each Pulsar version, on thousands of generated pairs."""

import functools
import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from differential import oracle, seeds
from differential.shrinking import Pair, shrink
from support.schemas import avro_pairs
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats.avro import FORMAT, AvroSchema, avro_version
from topicschema.core.formats.avro.resolution import resolver
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType

pytestmark = pytest.mark.differential

PULSAR_VERSIONS = (PulsarVersion.V4_0, PulsarVersion.V4_1)  # 4.2 and 5.0 judge with the library of 4.1
Answer = dict[str, bool]


def parsed(text: str, pulsar_version: PulsarVersion, *, validate_defaults: bool) -> AvroSchema | None:
    info = SchemaInfo(SchemaType.JSON, text.encode())
    try:
        return FORMAT.parse(info, pulsar_version, validate_defaults=validate_defaults)
    except InvalidSchemaError:
        return None


def ours(pair: Pair, pulsar_version: PulsarVersion) -> Answer:
    old, new = (parsed(text, pulsar_version, validate_defaults=False) for text in pair)
    answer = {
        "parse": old is not None,
        "validate": parsed(pair[0], pulsar_version, validate_defaults=True) is not None,
        "parseOther": new is not None,
        "validateOther": parsed(pair[1], pulsar_version, validate_defaults=True) is not None,
        **dict.fromkeys(("equals", "reads", "isRead", "mutual"), False),
    }
    if old is None or new is None:
        return answer
    one, other = old.root, new.root
    answer["equals"] = old.fingerprint == new.fingerprint
    if one.digest and other.digest:  # else they are not compared
        assert (one.digest == other.digest) == answer["equals"]
    answer["reads"] = not resolver.unreadable(one, other, avro_version.of(pulsar_version))
    answer["isRead"] = not resolver.unreadable(other, one, avro_version.of(pulsar_version))
    answer["mutual"] = answer["reads"] and answer["isRead"]
    return answer


def theirs(pairs: list[Pair], class_path: Path) -> list[Answer]:
    """Return Avro's verdicts; an exception is a no of the broker."""
    answers = oracle.query(({"op": "pair", "a": a, "b": b} for a, b in pairs), class_path=class_path)
    return [{name: verdict is True for name, verdict in answer.items()} for answer in answers]


@functools.cache
def recorded(class_path: Path) -> dict[str, tuple[list[Pair], list[Answer]]]:
    """Return the pairs by seed with Avro's verdicts, of one run of Java."""
    pairs = {seed: [avro_pairs.pair(seed, number) for number in range(seeds.PAIRS)] for seed in seeds.SEEDS.values()}
    answers = iter(theirs([pair for each in pairs.values() for pair in each], class_path))
    return {seed: (each, list(itertools.islice(answers, len(each)))) for seed, each in pairs.items()}


def difference(pair: Pair, pulsar_version: PulsarVersion, number: int, seed: str) -> str:
    """Return a disagreement as a text: the pair by its number, and the smallest one with the same fault."""
    class_path = oracle.AVRO_OF[pulsar_version]

    def disagrees(pairs: list[Pair]) -> list[bool]:
        return [
            ours(each, pulsar_version) != answer for each, answer in zip(pairs, theirs(pairs, class_path), strict=True)
        ]

    small = shrink(pair, disagrees)
    facts: dict[str, Any] = {
        "pulsar_version": pulsar_version.value,
        "pair": [_value(text) for text in small],
        "ours": ours(small, pulsar_version),
        "avro": theirs([small], class_path)[0],
    }
    return f"TOPICSCHEMA_SEED={seed}, pair {number}:\n{json.dumps(facts)}"


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", seeds.SEEDS.values(), ids=seeds.SEEDS)
@pytest.mark.parametrize("pulsar_version", PULSAR_VERSIONS)
def test_every_pair_has_the_verdicts_of_avro(pulsar_version: PulsarVersion, seed: str) -> None:
    pairs, answers = recorded(oracle.AVRO_OF[pulsar_version])[seed]
    wrong = [number for number, pair in enumerate(pairs) if ours(pair, pulsar_version) != answers[number]]
    assert not wrong, (
        f"{len(wrong)} of {len(pairs)} pairs; the first: {difference(pairs[wrong[0]], pulsar_version, wrong[0], seed)}"
    )
    for name in ("reads", "mutual"):  # both answers must come often enough to mean something
        share = sum(answer[name] for answer in answers) / len(answers)
        assert 0.25 < share < 0.75, f"{name}: yes in {share:.0%}"
