"""The course through all breakages in a thread of its own: it mostly waits, and other tests need not wait for it."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

from support.pulsar.breakage_course import opened
from support.pulsar.breakage_scene import Scene
from support.pulsar.breakages import Certificates
from testbed.cluster import Cluster
from testbed.instances import Instance
from testbed.product import Product
from testbed.pulsar import Pulsar
from topicschema.cluster.client import ApiClient
from topicschema.cluster.connection import Connection

_ENVIRONMENT = {"TOPICSCHEMA_BROKER_HOSTS": "127.0.0.1", "TOPICSCHEMA_RESYNC_PERIOD": "30"}


async def gone_through(cluster: Cluster, instance: Instance, pulsar: Pulsar) -> dict[str, Scene]:
    """All breakages, by name, gone through with a controller that looks at all each half minute, and a webhook."""
    product = Product.install(instance, cluster, _ENVIRONMENT)
    try:
        product.start_controller()
        product.start_webhook()
        product.admit()
        certificates = Certificates.made_in(instance.folder / "broken")
        async with ApiClient(Connection.load(str(cluster.kubeconfig))) as client:
            with opened(cluster, client, pulsar, certificates) as course:
                await course.run()
                return {scene.breakage.name: scene for scene in course.scenes}
    finally:
        product.stop()


@contextmanager
def under_way(cluster: Cluster, instance: Instance, pulsar: Pulsar) -> Iterator[Future[dict[str, Scene]]]:
    """The same in a thread; who leaves before it has come to its end breaks it off."""
    loop = asyncio.new_event_loop()
    task = loop.create_task(gone_through(cluster, instance, pulsar))
    with ThreadPoolExecutor(1, "broken brokers") as pool:
        try:
            yield pool.submit(loop.run_until_complete, task)
        finally:
            loop.call_soon_threadsafe(task.cancel)
    loop.close()
