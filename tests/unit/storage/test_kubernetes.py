"""What KubernetesStorage requests of the API server."""

from functools import reduce

from support.kubernetes.api_server import FakeApiServer
from support.kubernetes.storage_contract import following, text
from topicschema.cluster.client import ApiClient
from topicschema.core.history import History
from topicschema.core.topics import Topic, TopicKey
from topicschema.storage.kubernetes.storage import KubernetesStorage
from topicschema.storage.protocol import Stored


async def test_a_list_of_topics_reads_no_history() -> None:
    keys = [TopicKey("pulsar", Topic("shop", "orders", name)) for name in ("one", "two")]
    async with FakeApiServer().running() as api, ApiClient(api.connection) as client:
        storage = KubernetesStorage(client, "system")
        for key in keys:
            await storage.put(Stored(History(key)), reduce(following, [text(f"{n}") for n in range(50)], History(key)))
        one, api.largest = api.largest, 0
        api.requests.clear()
        assert await storage.list_topics(keys[0].namespace_key) == tuple(keys)
        assert len(api.requests) == 1
        assert api.largest < one / 4
