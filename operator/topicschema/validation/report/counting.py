"""Counts of a batch and its verdicts, added to the tally."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from topicschema.payload.columnar.reasons import REASONS
from topicschema.validation.report.tally import UNKNOWN_WRITER, Tally
from topicschema.validation.run.batches import NO_TIME
from topicschema.validation.run.validators import WriterVerdicts

HOUR: Final = 3_600_000
"""An hour in milliseconds."""
_FEW: Final = 1_000
"""Maximum number of rows that Python counts faster than Arrow."""


def count(tally: Tally, batch: pa.RecordBatch, verdicts: Sequence[WriterVerdicts]) -> None:
    """Count a batch with the verdicts on all its messages."""
    times = batch.column("publish_time").to_numpy()
    hours = np.where(times < 0, NO_TIME, times // HOUR)
    partitions = batch.column("partition").to_numpy()
    writers = np.empty(len(batch), np.int64)
    tally.messages += len(batch)
    for each in verdicts:
        writers[each.rows] = each.writer
        _count_findings(tally, each, partitions, hours)
        for loss, messages in zip(each.validator.losses, each.verdicts.losses.tolist(), strict=False):
            if messages:
                tally.losses.add((loss.kind, loss.path, each.writer), messages)
    for key, messages in grouped([writers, partitions, hours]):
        tally.traffic.add(key, messages)
    _count_writers(tally, batch, writers, times)


def _count_findings(tally: Tally, each: WriterVerdicts, partitions: NDArray[Any], hours: NDArray[Any]) -> None:
    bad = np.flatnonzero(each.verdicts.reasons)
    if not len(bad):
        return
    tally.invalid += len(bad)
    rows, paths = each.rows[bad], each.validator.paths
    columns: list[NDArray[Any]] = [each.verdicts.reasons[bad], each.verdicts.paths[bad], partitions[rows], hours[rows]]
    for (number, path, *rest), messages in grouped(columns):
        reason = REASONS[number]
        tally.findings.add((reason, paths[path], each.writer, *rest), messages)
        if each.validator.reasons[reason]:
            tally.tolerated.add(reason)


def _count_writers(tally: Tally, batch: pa.RecordBatch, writers: NDArray[np.int64], times: NDArray[np.int64]) -> None:
    known = pa.array(times, mask=times < 0)
    groups = pa.table([writers, known], names=["writer", "time"]).group_by("writer", use_threads=False)
    counted = groups.aggregate([([], "count_all"), ("time", "min"), ("time", "max")])
    for writer, messages, first, last in zip(*(each.to_pylist() for each in counted.columns), strict=True):
        oldest, newest = (NO_TIME, NO_TIME) if first is None else (first, last)
        tally.count_writer(writer, messages, oldest, newest)
        if writer == UNKNOWN_WRITER:
            versions = batch.column("writer").to_numpy()[writers == writer]
            for (version,), count in grouped([versions]):
                tally.count_unknown_version(version, count)


def grouped(columns: Sequence[NDArray[Any]]) -> Iterable[tuple[tuple[int, ...], int]]:
    """Return each combination of values that rows have, and the number of these rows.

    The columns are integers of one length.
    """
    if len(columns[0]) <= _FEW:
        return Counter(zip(*(column.tolist() for column in columns), strict=True)).items()
    names = [str(number) for number in range(len(columns))]
    groups = pa.table(list(columns), names=names).group_by(names, use_threads=False)
    *values, counts = (column.to_pylist() for column in groups.aggregate([([], "count_all")]).columns)
    return zip(zip(*values, strict=True), counts, strict=True)
