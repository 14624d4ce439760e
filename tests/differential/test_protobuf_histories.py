"""Real histories of protobuf before the broker's own checker: it lets every release follow every other.

It takes longer than most tests: eight wheels are read, and 448 pairs of large descriptors are linked.
"""

from itertools import permutations

import pytest

from demo.errors import DemoError
from differential import oracle
from support.schemas import googleapis_releases
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy

pytestmark = pytest.mark.differential


def test_the_broker_lets_every_release_follow_every_other_as_we_do() -> None:
    try:
        texts = {root: googleapis_releases.envelopes(root) for root in googleapis_releases.ROOTS}
    except DemoError as error:
        pytest.skip(f"real histories of protobuf: {error}")
    releases = {
        root: [SchemaInfo(SchemaType.PROTOBUF_NATIVE, text) for text in each.values()] for root, each in texts.items()
    }
    requests = ({"op": "root", "schema": oracle.wire(info)} for infos in releases.values() for info in infos)
    answers = oracle.query(requests, oracle.BROKER)
    assert [answer.get("result") for answer in answers] == [root for root, infos in releases.items() for _ in infos]
    pairs = [pair for infos in releases.values() for pair in permutations(infos, 2)]
    checks = (oracle.check(candidate, Strategy.FULL, earlier) for earlier, candidate in pairs)
    assert {answer["verdict"] for answer in oracle.query(checks, oracle.BROKER)} == {True}
