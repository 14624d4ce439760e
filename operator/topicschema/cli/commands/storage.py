"""`topicschema storage`: copy the operator's record from one store to another, or measure the configured store."""

import asyncio
import signal
import sys
from argparse import Namespace
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from topicschema import settings
from topicschema.api.kinds import SCHEMA_REGISTRY
from topicschema.cli import printing, record_cluster, storage_bench
from topicschema.cli.exits import COMPATIBLE, INCOMPATIBLE, NO_ANSWER
from topicschema.cli.inputs import cluster
from topicschema.cli.inputs.cluster import ClusterError
from topicschema.cli.inputs.files import UsageError
from topicschema.cli.record import RecordStore
from topicschema.cli.record_copy import RecordCopy, RefusedCopyError
from topicschema.cli.storage_bench import OccupiedError, OperationTimes, RemainingTopicsError, StorageBench
from topicschema.cluster.client import ApiClient
from topicschema.cluster.connection import ApiConnection
from topicschema.cluster.errors import NotFoundError
from topicschema.core.errors import StalledError, TopicSchemaError
from topicschema.settings import InvalidSettingError
from topicschema.storage.protocol import SchemaStorage

_ROW = "{:10}{:>10}{:>10}{:>10}"


def run(options: Namespace) -> int:
    """Run the action that the options name."""
    return _bench(options) if options.action == "bench" else _copy(options)


def _copy(options: Namespace) -> int:
    """Copy and verify. Return 1, without a write, if the target has a newer or another history."""
    if options.source == options.target:
        raise UsageError("FROM and TO are the same store")
    try:
        with _connect(options.source, options) as source, _connect(options.target, options) as target:
            copy = RecordCopy(source, target)
            number = copy.run()
    except RefusedCopyError as error:
        print("topicschema storage copy: nothing was written.", error, sep="\n", file=sys.stderr)
        return INCOMPATIBLE
    except (TopicSchemaError, ClusterError) as error:
        print(f"topicschema storage copy: {error}; run it again to continue", file=sys.stderr)
        return NO_ANSWER
    print(f"copied {copy.written} objects, the others were there; {number} are equal in both stores")
    return COMPATIBLE


@contextmanager
def _connect(name: str, options: Namespace) -> Iterator[RecordStore]:
    if name == "kubernetes":
        is_target = name == options.target
        with record_cluster.connect(options.namespace, _writer(options) if is_target else "") as connected:
            yield connected
        return
    try:
        from topicschema.cli import record_database  # noqa: PLC0415 - an install may lack the packages
    except ModuleNotFoundError as error:
        raise UsageError(f"{error}: pip install 'topicschema[postgresql]'") from None
    with record_database.connect() as database:
        yield database


def _writer(options: Namespace) -> str:
    return options.user or f"system:serviceaccount:{options.namespace}:topicschema-controller"


def _bench(options: Namespace) -> int:
    """Measure. Return 1, without a write, if the registry of the bench exists."""
    signals = list[int]()
    try:
        results = asyncio.run(_measure(options, signals))
    except OccupiedError as error:
        print(f"topicschema storage bench: nothing was written: {error}", file=sys.stderr)
        return INCOMPATIBLE
    except RemainingTopicsError as error:
        remedy = "its topics remain in the store: once it answers, run topicschema storage bench --remove"
        print(f"topicschema storage bench: {error.__cause__}; {remedy}", file=sys.stderr)
        return NO_ANSWER
    except TopicSchemaError as error:
        print(f"topicschema storage bench: {error}", file=sys.stderr)
        return NO_ANSWER
    if signals:  # end as by that signal, now that the topics are removed
        signal.signal(signals[0], signal.SIG_DFL)
        signal.raise_signal(signals[0])
    if options.remove:
        return COMPATIBLE
    if options.output == "json":
        printing.write(_object(results), "json")
    else:
        print("\n".join(_lines(results)))
    return COMPATIBLE


async def _measure(options: Namespace, signals: list[int]) -> list[OperationTimes]:
    """Return the times, or an empty list after a signal, which is then in `signals`, or with `--remove`."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()

    def end(number: int) -> None:
        signals.append(number)
        stop.set()

    async with _store(options) as store:
        bench = StorageBench(store, stop)
        if options.remove:
            print(f"removed {await bench.remove()} topics")
            return []
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, end, number)
        return await bench.run()


@asynccontextmanager
async def _store(options: Namespace) -> AsyncIterator[SchemaStorage]:
    """Yield the configured store. Raises OccupiedError if a SchemaRegistry has the name of the bench's."""
    kubeconfig = cluster.kubeconfig()
    try:
        factory = settings.storage()
        # A pod has the controller's own account.
        connection = ApiConnection.load(kubeconfig, user="" if kubeconfig is None else _writer(options))
    except (InvalidSettingError, StalledError) as error:
        raise UsageError(str(error)) from None
    async with ApiClient(connection) as client:
        try:
            await client.get(SCHEMA_REGISTRY, "", storage_bench.REGISTRY)
        except NotFoundError:
            pass
        else:
            raise OccupiedError(f"there is a SchemaRegistry {storage_bench.REGISTRY}")
        store = factory(client, options.namespace, cache_bytes=0)
        try:
            yield store
        finally:
            await store.aclose()


def _object(results: list[OperationTimes]) -> dict[str, object]:
    return {
        "storage": settings.storage_name(),
        "topics": storage_bench.TOPICS,
        "versions": storage_bench.VERSIONS,
        "schemaBytes": storage_bench.BYTES,
        "operations": [
            {
                "operation": each.operation,
                "perSecond": round(each.per_second, 1),
                "p50Milliseconds": round(each.percentile(50), 3),
                "p99Milliseconds": round(each.percentile(99), 3),
            }
            for each in results
        ],
    }


def _lines(results: list[OperationTimes]) -> Iterator[str]:
    size = f"{storage_bench.VERSIONS} versions of {storage_bench.BYTES:,} bytes"
    yield f"{settings.storage_name()}: {storage_bench.TOPICS} topics at once, {size} each"
    yield ""
    yield _ROW.format("OPERATION", "A SECOND", "P50 MS", "P99 MS")
    for each in results:
        times = (f"{each.percentile(percent):.1f}" for percent in (50, 99))
        yield _ROW.format(each.operation, f"{each.per_second:.0f}", *times)
