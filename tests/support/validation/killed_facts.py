"""The data source of audits, interrupted once in the middle of a task: its worker is killed, or its broker restarts."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
from typing_extensions import override

from support.validation.killed_workers import killed_once
from testbed.pulsar import Pulsar
from topicschema.spark import reading
from topicschema.spark.audit.facts import FactRowSource, PulsarFacts
from topicschema.spark.audit.stream import FactStreamReader

_SECONDS = 200


@dataclass(frozen=True, slots=True)
class KillingRows(FactRowSource):
    """Facts whose first process is killed. Before that it creates the file."""

    trace: Path

    @override
    def rows(self, spans: Iterable[Any]) -> Iterator[pa.RecordBatch]:
        return killed_once(FactRowSource(self.options).rows(spans), self.trace)


@dataclass(frozen=True, slots=True)
class RestartingRows(KillingRows):
    """Facts whose first reader creates the file after a batch of messages, and reads on once it is gone."""

    @override
    def rows(self, spans: Iterable[Any]) -> Iterator[pa.RecordBatch]:
        plain = reading.messages
        reading.messages = partial(_pausing, plain, self.trace)
        try:
            yield from FactRowSource(self.options).rows(spans)
        finally:
            reading.messages = plain


class KillingFacts(PulsarFacts):
    """The data source. The file `interrupted` is in the folder of temporary folders.

    Spark creates the reader again in each process, so the path is not an argument.
    """

    rows: ClassVar[Callable[..., FactRowSource]] = KillingRows

    @override
    def streamReader(self, schema: Any) -> FactStreamReader:
        reader: Any = super().streamReader(schema)
        trace = Path(reader._survey_file).parents[1] / "interrupted"
        return FactStreamReader(type(self).rows(reader._source.options, trace), reader._survey_file, reader._identity)


class RestartingFacts(KillingFacts):
    """The data source for `restart_while_read`."""

    rows = RestartingRows


def restart_while_read(broker: Pulsar, trace: Path) -> None:
    """Kill and start the broker while the reader of RestartingFacts waits."""
    _wait_until(trace.exists)
    assert broker.program is not None
    broker.program.kill()
    broker.start()
    trace.write_text("done")


def _pausing(messages: Callable[..., Iterator[Any]], trace: Path, *arguments: Any, **more: Any) -> Iterator[Any]:
    for batch in messages(*arguments, **more):
        yield batch
        try:
            trace.touch(exist_ok=False)
        except FileExistsError:
            continue
        _wait_until(trace.read_text)


def _wait_until(is_reached: Callable[[], Any]) -> None:
    end = time.monotonic() + _SECONDS
    while not is_reached() and time.monotonic() < end:
        time.sleep(0.02)
