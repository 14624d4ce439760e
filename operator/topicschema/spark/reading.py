"""Messages of a span, in batches, and the interface between Spark's readers and the rows that they return."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from topicschema.spark.options import ReadOptions
from topicschema.spark.planning import TaskSpan
from topicschema.validation.errors import SourceError
from topicschema.validation.sources import Expired, NotDelivered
from topicschema.validation.sources.pulsar.admin import Admin
from topicschema.validation.sources.pulsar.errors import SourceDeletedError

if TYPE_CHECKING:
    from topicschema.validation.run.validators import WriterVerdicts

_TIMEOUT: Final = 90.0
"""Maximum seconds without data from the broker, restarts included, while messages remain to be read."""
HOUR: Final = 3_600_000
"""An hour in milliseconds."""
_NO_TIME: Final = -1
_LAST: Final = int(datetime(9999, 12, 31, tzinfo=UTC).timestamp() * 1000)
"""First publish time in milliseconds that counts as none. Python, and partitions by day, have no later years."""


class RowSource(Protocol):
    """Rows of a data source. It is picklable, because executors receive it."""

    @property
    def options(self) -> ReadOptions:
        """The options of the read."""

    def planned(self, admin: Admin, spans: Sequence[TaskSpan]) -> Sequence[TaskSpan]:
        """Return the spans with what the rows need from the broker at the time of the plan."""

    def rows(self, spans: Iterable[TaskSpan]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the spans' messages.

        Raises SourceError if messages cannot be read, and, unless failOnDataLoss is false, if the broker removed them
        after the plan.
        """


def messages(
    admin: Admin, span: TaskSpan, *, has_keys: bool, has_details: bool = False
) -> Iterator[pa.RecordBatch | Expired]:
    """Yield the messages of the span that match its times, as `batches.BATCH`, and what the broker removed of it.

    Raises SourceError if messages cannot be read, and SourceDeletedError if the topic was deleted after the plan.
    """
    from topicschema.validation.sources.pulsar import reader  # noqa: PLC0415  # numba, which a plan does not need

    columns = reader.ReaderOptions(has_keys, _TIMEOUT, has_details)
    for batch in reader.read(admin, columns, span.positions, span.parsed_partition):
        match batch:
            case Expired():
                yield batch
            case NotDelivered():
                pass  # markers and aborted transactions have no message
            case _:
                chosen = _between(batch, span)
                if len(chosen):
                    yield chosen


def batches(
    admin: Admin, options: ReadOptions, span: TaskSpan, *, has_keys: bool, has_details: bool = False
) -> Iterator[pa.RecordBatch]:
    """Yield the messages of the span that match its times, as `batches.BATCH`.

    Raises SourceError as RowSource does.
    """
    try:
        for batch in messages(admin, span, has_keys=has_keys, has_details=has_details):
            if not isinstance(batch, Expired):
                yield batch
            elif options.fails_on_data_loss:
                raise _lost(span, f"the broker removed about {batch.messages:,} messages")
    except SourceDeletedError as error:
        if options.fails_on_data_loss:
            raise _lost(span, error.message) from None


def _lost(span: TaskSpan, message: str) -> SourceError:
    return SourceError(
        f"{message} after the read was planned. Set option failOnDataLoss to false to continue without them",
        str(span.positions),
    )


def _between(batch: pa.RecordBatch, span: TaskSpan) -> pa.RecordBatch:
    """Return the messages that were published in the span's time. Messages without a publish time are among them."""
    if span.since is None and span.until is None:
        return batch
    published = batch.column("publish_time").to_numpy()
    chosen = np.ones(len(batch), bool)
    if span.since is not None:
        chosen &= published >= span.since
    if span.until is not None:
        chosen &= published < span.until
    return batch.filter(pa.array(chosen | (published < 0)))


def by_verdict(
    messages: pa.Table, verdicts: Iterable["WriterVerdicts"], columns: Sequence[str]
) -> tuple[pa.Table, pa.Table, list[tuple["WriterVerdicts", NDArray[np.int64]]]]:
    """Return these columns of the messages without a fault, all columns of those with one, and the latter's verdicts.

    Each of the verdicts has the places of its bad messages in it. All these are in the order of the second table.
    """
    readable = messages.select(columns)
    faults = [(each, bad) for each in verdicts if len(bad := np.flatnonzero(each.verdicts.reasons))]
    if not faults:
        return readable, messages.slice(0, 0), faults
    rows = np.concatenate([each.rows[bad] for each, bad in faults])
    is_readable = np.ones(len(messages), bool)
    is_readable[rows] = False
    return readable.filter(pa.array(is_readable)), messages.take(pa.array(rows)), faults


def measured(batch: pa.RecordBatch) -> pa.Table:
    """Return what counts need of messages, with the bytes of their payloads.

    `time` is the publish time in milliseconds since 1970, and `hour` in hours. Both are -1 without one.
    """
    times = batch.column("publish_time").to_numpy()
    times = np.where((times < 0) | (times >= _LAST), _NO_TIME, times)
    return pa.table(
        {
            **{name: batch.column(name) for name in ("partition", "ledger", "entry", "batch_index", "writer")},
            "hour": np.where(times < 0, _NO_TIME, times // HOUR),
            "time": times,
            "bytes": pa.compute.binary_length(batch.column("payload")).fill_null(0).cast(pa.int64()),
        }
    )
