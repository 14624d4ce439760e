"""Real histories of protobuf before the broker's own checker: it lets every release follow every other.

It takes longer than most tests: eight wheels are read, and 448 pairs of large descriptors are linked.
"""

from itertools import permutations

import pytest

from demo.errors import DemoError
from differential import oracle
from differential.test_protobuf_native import wire
from support.schemas import googleapis_releases
from topicschema.core.strategies import Strategy

pytestmark = pytest.mark.differential


def test_the_broker_lets_every_release_follow_every_other_as_we_do() -> None:
    try:
        texts = {root: googleapis_releases.envelopes(root) for root in googleapis_releases.ROOTS}
    except DemoError as error:
        pytest.skip(f"real histories of protobuf: {error}")
    roots = [(root, text) for root, release in texts.items() for text in release.values()]
    answers = oracle.query(({"op": "root", "schema": wire(text)} for _, text in roots), oracle.BROKER)
    assert [answer.get("result") for answer in answers] == [root for root, _ in roots]
    pairs = [pair for release in texts.values() for pair in permutations(release.values(), 2)]
    checks = (
        {
            "op": "check",
            "existing": [wire(earlier)],
            "candidate": wire(candidate),
            "strategy": Strategy.FULL.value,
            "all": False,
        }
        for earlier, candidate in pairs
    )
    assert {answer["verdict"] for answer in oracle.query(checks, oracle.BROKER)} == {True}
