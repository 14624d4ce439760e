"""The topics without a TopicSchema that a lock waits for, and the producers that are connected to them.

Each topic costs one request until 20 are listed. Each of these costs one more. They are sent one after another,
only while a policy has a lock that is not set yet.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from topicschema.api.policies import ConnectedProducer, SchemalessTopics, UnmanagedTopic, UnmanagedTopicsSpec
from topicschema.broker.broker import Broker
from topicschema.core.errors import TopicSchemaError
from topicschema.core.remote import ListedTopic, Producer
from topicschema.core.topics import PulsarNamespaceKey, Topic
from topicschema.reconcile.status_writer import ERRORS_WITHOUT_STATUS

_LISTED: Final = 20
_PRODUCERS: Final = 5
_LONGEST: Final = 256


@dataclass(frozen=True, slots=True)
class UnmanagedTopics:
    """The number of topics that the lock waits for, and the first of them."""

    count: int = 0
    first: tuple[UnmanagedTopic, ...] = ()


NONE: Final = UnmanagedTopics()


async def find(
    broker: Broker, key: PulsarNamespaceKey, spec: UnmanagedTopicsSpec, managed: Collection[str]
) -> UnmanagedTopics:
    """Return the topics that the lock waits for. `managed` are the local names of the topics with a TopicSchema."""
    unmanaged = [
        each
        for each in await broker.topics(key)
        if each.local_name not in managed and not spec.exempts(each.local_name)
    ]
    count, listed = len(unmanaged), list[tuple[ListedTopic, str]]()
    for each in unmanaged:
        if len(listed) == _LISTED:
            break
        # The index has deleted versions, too: a producer with such a schema is refused under a lock.
        has_schema = bool(await broker.index(Topic(key.tenant, key.namespace, each.local_name)))
        if has_schema or spec.schemaless is SchemalessTopics.BLOCK:
            listed.append((each, "HasSchema" if has_schema else "Schemaless"))
        else:
            count -= 1
    return UnmanagedTopics(count, tuple([await _described(broker, key, *each) for each in listed]))


async def _described(broker: Broker, key: PulsarNamespaceKey, topic: ListedTopic, reason: str) -> UnmanagedTopic:
    try:
        producers = await broker.producers(key, topic)
    except ERRORS_WITHOUT_STATUS:
        raise
    except TopicSchemaError:  # they only inform, and the role may lack the permission to read stats
        producers = ()
    return UnmanagedTopic(
        topic=topic.local_name,
        reason=reason,
        producer_count=len(producers),
        producers=tuple(map(_connected, producers[:_PRODUCERS])),
    )


def _connected(producer: Producer) -> ConnectedProducer:
    return ConnectedProducer(
        name=producer.name[:_LONGEST],
        client_version=producer.client_version[:_LONGEST] or None,
        address=producer.address[:_LONGEST] or None,
    )
