"""The recorded conversations with the broker's REST API of schemas: the registry has to answer the same.

TOPICSCHEMA_TEST_RECORD=1 replaces the recording.
"""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from broker.conversations import answers
from broker.conversations.script import Conversation, conversations
from support import sizes
from testbed.pulsar import Pulsar

pytestmark = pytest.mark.broker
RECORDS = os.environ.get("TOPICSCHEMA_TEST_RECORD") == "1"


def converse(pulsar: Pulsar, namespace: str, position: int, conversation: Conversation) -> list[answers.Answer]:
    def send(method: str, path: str, body: bytes | None, headers: dict[str, str]) -> tuple[int, str]:
        response = pulsar.request(method, path, body, headers)
        return response.status, response.text

    return answers.converse(conversation, namespace, f"x{position}", send)


@pytest.mark.timeout(600)
def test_the_broker_answers_as_recorded(pulsar: Pulsar) -> None:
    every = list(enumerate(conversations()))
    chosen = every if RECORDS else every[:: sizes.sized(10, 1)]
    namespaces = {}
    for strategy in {each.strategy for _, each in chosen}:
        namespaces[strategy] = pulsar.create_namespace()
        pulsar.call("PUT", f"/namespaces/{namespaces[strategy]}/schemaCompatibilityStrategy", strategy)
    with ThreadPoolExecutor(4) as pool:
        pending = {c.name: pool.submit(converse, pulsar, namespaces[c.strategy], at, c) for at, c in chosen}
    current = {name: each.result() for name, each in pending.items()}
    if RECORDS:
        answers.record(current)
    recorded = answers.recorded()
    assert current == {name: recorded[name] for name in current}
