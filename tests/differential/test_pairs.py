"""All verdicts on two schemas beside Avro's own library, for each Pulsar version, on thousands of generated pairs."""

import functools
import itertools
from pathlib import Path

import pytest

from differential import oracle, seeds
from support.schemas import avro_pairs
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats.avro import FORMAT, AvroSchema, avro_version
from topicschema.core.formats.avro.resolution import resolver
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType

pytestmark = pytest.mark.differential

Pair = tuple[str, str]
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


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", seeds.SEEDS.values(), ids=seeds.SEEDS)
@pytest.mark.parametrize("pulsar_version", oracle.AVRO_VERSIONS)
def test_every_pair_has_the_verdicts_of_avro(pulsar_version: PulsarVersion, seed: str) -> None:
    pairs, answers = recorded(oracle.AVRO_OF[pulsar_version])[seed]
    wrong = [number for number, pair in enumerate(pairs) if ours(pair, pulsar_version) != answers[number]]
    first = wrong[0] if wrong else 0
    assert wrong == [], (seed, first, pairs[first], ours(pairs[first], pulsar_version), answers[first])
    for name in ("reads", "mutual"):  # both answers must come often enough to mean something
        share = sum(answer[name] for answer in answers) / len(answers)
        assert 0.25 < share < 0.75, f"{name}: yes in {share:.0%}"
