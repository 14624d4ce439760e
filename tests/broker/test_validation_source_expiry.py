"""Messages that the broker skips for all subscriptions while they are read are retained, and so they count.

By TTL or by hand. 30 MB are sent, of which the first must be seconds older than the others.
"""

import time
from itertools import chain

import pytest

from support.validation.topic_messages import RetainedTopic, client_of, contents, places
from testbed.pulsar import Pulsar
from topicschema.validation.sources import Expired

pytestmark = [pytest.mark.timeout(180), pytest.mark.broker]

OLDER_THAN = 2
"""The age in seconds from which the broker skips messages."""


def _payloads(name: bytes, count: int) -> list[bytes]:
    """Return more of them than are on their way to a reader that stopped."""
    return [b"%s %d " % (name, each) + b"x" * 20_000 for each in range(count)]


def test_what_is_skipped_for_all_subscriptions_while_it_is_read_costs_no_message_and_repeats_none(
    pulsar: Pulsar,
) -> None:
    topic = RetainedTopic.made(pulsar)
    with client_of(pulsar) as client:
        topic.send(client, _payloads(b"old", 1_500))
        time.sleep(OLDER_THAN + 1)
        topic.send(client, _payloads(b"young", 300))
    source = topic.source(split_messages=800)
    first, *others = source.plan().splits
    reading = source.read(first)
    messages = next(reading).to_pylist()
    pulsar.tell("POST", f"{topic.path}/all_subscription/expireMessages/{OLDER_THAN}")
    for batch in chain(reading, *map(source.read, others)):
        assert not isinstance(batch, Expired)
        messages.extend(batch.to_pylist())
    assert contents(messages) == topic.sent
    assert len(set(places(messages))) == len(messages)
