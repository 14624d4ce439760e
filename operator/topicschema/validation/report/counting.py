"""Counts of a batch and its verdicts, added to the tally."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from topicschema.validation.report.grouping import grouped
from topicschema.validation.report.tally import UNKNOWN_WRITER, Tally
from topicschema.validation.run.batches import NO_TIME
from topicschema.validation.run.judging import Judged

HOUR: Final = 3_600_000
"""An hour in milliseconds."""


def count(tally: Tally, batch: pa.RecordBatch, judged: Judged, words: Sequence[str]) -> NDArray[np.int64]:
    """Count a batch, whose verdicts are codes of `words`. Return the rows of its invalid messages."""
    times = batch.column("publish_time").to_numpy()
    hours = np.where(times < 0, NO_TIME, times // HOUR)
    partitions = batch.column("partition").to_numpy()
    tally.messages += len(batch)
    for key, messages in grouped([judged.writer, partitions, hours]):
        tally.traffic.add(key, messages)
    bad = np.flatnonzero(judged.reason)
    tally.invalid += len(bad)
    columns = [each[bad] for each in (judged.reason, judged.path, judged.writer, partitions, hours)]
    for (reason, path, *rest), messages in grouped(columns):
        tally.findings.add((words[reason], words[path], *rest), messages)
    for writer, losses in judged.losses:
        for loss, messages in losses:
            tally.losses.add((loss.kind, loss.path, writer), messages)
    _count_writers(tally, batch, judged, times)
    return bad


def _count_writers(tally: Tally, batch: pa.RecordBatch, judged: Judged, times: NDArray[np.int64]) -> None:
    known = pa.array(times, mask=times < 0)
    groups = pa.table([judged.writer, known], names=["writer", "time"]).group_by("writer", use_threads=False)
    counted = groups.aggregate([([], "count_all"), ("time", "min"), ("time", "max")])
    for writer, messages, first, last in zip(*(each.to_pylist() for each in counted.columns), strict=True):
        oldest, newest = (NO_TIME, NO_TIME) if first is None else (first, last)
        tally.count_writer(writer, messages, oldest, newest)
        if writer == UNKNOWN_WRITER:
            versions = batch.column("writer").to_numpy()[judged.writer == writer]
            for (version,), count in grouped([versions]):
                tally.count_unknown_version(version, count)
