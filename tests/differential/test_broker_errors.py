"""Errors of `check --batch` beside the broker's own classes: comparisons that end in an exception, not in a verdict."""

import random
from collections.abc import Iterator
from typing import Any

import pytest

from differential import oracle, seeds
from support.schemas import avro_circles, avro_pairs
from topicschema.cli.check.engine import BrokerOperation, CheckRequest, CheckResult, answer
from topicschema.core import formats
from topicschema.core.policy import BrokerProfile, Policy
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy

pytestmark = pytest.mark.differential

STRATEGIES = [each for each in Strategy if each.directions]
REST = 1 / 500
"""Number of new pairs of which the error may be the wrong one; the verdict never is.

About one in 50,000, as when the text of Avro's exception quotes a schema that Avro itself cannot print.
"""
TYPES_OF_PAIR = {"key.schema.type": "AVRO", "value.schema.type": "JSON"}


def texts(seed: str, number: int) -> tuple[str, str]:
    """Return a pair, every third time one of records that come back to themselves."""
    rng = random.Random(f"{seed} {number}")  # noqa: S311 - chance for tests, to be repeated
    return avro_pairs.pair(seed, number) if number % 3 else avro_circles.pair(rng)


def pairs(seed: str) -> Iterator[tuple[SchemaInfo, SchemaInfo]]:
    """Yield earlier schemas with candidates."""
    for number in range(seeds.PAIRS):
        candidate, earlier = texts(seed, number)
        yield SchemaInfo(SchemaType.JSON, earlier.encode()), SchemaInfo(SchemaType.JSON, candidate.encode())
    for number in range(0, seeds.PAIRS - 1, 2):
        keys, values = texts(seed, number), texts(seed, number + 1)
        if all(each.startswith("{") for each in (*keys, *values)):
            yield joined(keys[1], values[1]), joined(keys[0], values[0])


def joined(key: str, value: str) -> SchemaInfo:
    return SchemaInfo(SchemaType.KEY_VALUE, f'{{"key": {key}, "value": {value}}}'.encode(), TYPES_OF_PAIR)


def is_readable(info: SchemaInfo, pulsar_version: PulsarVersion) -> bool:
    """Return True if the schema can be compared. JSON's checker in 4.1 rejects names with $, unlike its validator."""
    case = CheckRequest(info, (), Policy(profile=BrokerProfile(pulsar_version)), BrokerOperation.COMPATIBILITY)
    return answer(case).refusal is None and (pulsar_version is not PulsarVersion.V4_1 or b"$" not in info.schema)


def is_error(verdict: Any, strategy: Strategy) -> bool:
    """Return True if a checker's answer becomes an HTTP 500. A check of all versions wraps exceptions, but no error."""
    failed = isinstance(verdict, str)
    return verdict == "error:StackOverflowError" if strategy.is_transitive else failed


def is_undecided(ours: CheckResult, theirs: Any) -> bool:
    """Return True if the comparison left a record early on which Avro may still fail, depending on its context.

    It is endless, too; or it comes back to itself, and Avro meets it again, half made, by another way.
    """
    rules = {each.rule for each in ours.incompatibilities}
    is_half_made = theirs["verdict"] == "error:NullPointerException"
    return "FIELD_WITHOUT_DEFAULT" in rules and (is_half_made or "INFINITE_RECORD" in rules)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", seeds.SEEDS.values(), ids=seeds.SEEDS)
@pytest.mark.parametrize("pulsar_version", oracle.JUDGING)
def test_an_error_is_reported_exactly_if_the_brokers_comparison_fails(pulsar_version: PulsarVersion, seed: str) -> None:
    cases = [
        (earlier, candidate, STRATEGIES[number % len(STRATEGIES)])
        for number, (earlier, candidate) in enumerate(pairs(seed))
        if earlier.schema != candidate.schema
        and is_readable(earlier, pulsar_version)
        and is_readable(candidate, pulsar_version)
    ]
    assert len(cases) > seeds.PAIRS / 2
    requests = (
        oracle.check(formats.as_stored(candidate), strategy, formats.as_stored(earlier))
        for earlier, candidate, strategy in cases
    )
    met, differing = 0, []
    for case, theirs in zip(
        cases, oracle.query(requests, oracle.BROKER, oracle.BROKER_OF[pulsar_version]), strict=True
    ):
        earlier, candidate, strategy = case
        policy = Policy(strategy, profile=BrokerProfile(pulsar_version))
        ours = answer(CheckRequest(candidate, (earlier,), policy, BrokerOperation.COMPATIBILITY))
        assert ours.is_compatible == (theirs["verdict"] is True), (seed, case, ours, theirs)
        if (ours.refusal is not None) != is_error(theirs["verdict"], strategy) and not is_undecided(ours, theirs):
            differing.append((case, ours, theirs))
        met += ours.refusal is not None
    assert met > seeds.PAIRS / 100
    assert len(differing) <= (0 if seed == seeds.FIXED else REST * seeds.PAIRS), (seed, differing)
