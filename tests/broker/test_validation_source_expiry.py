"""What the broker skips for all subscriptions while it is read, by TTL or by hand, is retained, and so it counts.

30 MB are sent, of which the first are to be seconds older than the others.
"""

import time
from itertools import chain

import pytest

from support.validation.topic_messages import RetainedTopic, contents, open_client, places
from testbed.pulsar import Pulsar
from topicschema.validation.sources import Expired

pytestmark = [pytest.mark.timeout(180), pytest.mark.broker]

OLDER_THAN = 2
"""The broker is told to skip what is older than so many seconds."""


def _payloads(name: bytes, count: int) -> list[bytes]:
    """More of them than are on their way to a reader that stopped."""
    return [b"%s %d " % (name, each) + b"x" * 20_000 for each in range(count)]


def test_what_is_skipped_for_all_subscriptions_while_it_is_read_costs_no_message_and_repeats_none(
    pulsar: Pulsar,
) -> None:
    topic = RetainedTopic.create(pulsar)
    with open_client(pulsar) as client:
        topic.send(client, _payloads(b"old", 1_500))
        time.sleep(OLDER_THAN + 1)
        topic.send(client, _payloads(b"young", 300))
    source = topic.source(split_messages=800)
    first, *others = source.plan().splits
    reading = source.read(first)
    found = next(reading).to_pylist()
    pulsar.call("POST", f"{topic.path}/all_subscription/expireMessages/{OLDER_THAN}")
    for batch in chain(reading, *map(source.read, others)):
        assert not isinstance(batch, Expired)
        found.extend(batch.to_pylist())
    assert contents(found) == topic.sent
    assert len(set(places(found))) == len(found)
