"""Typed columns: each message decoded by its own version, and projected on a reader's schema."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import DataType, StringType, StructField, StructType

from topicschema.core.errors import InvalidSchemaError
from topicschema.core.schemas import SchemaInfo
from topicschema.payload import arrow
from topicschema.payload.arrow.decoder import Decoder
from topicschema.payload.columnar.reasons import NUMBERS, REASONS
from topicschema.spark.errors import InvalidOptionError
from topicschema.spark.versions import TopicVersions
from topicschema.validation.errors import SourceError
from topicschema.validation.run.batches import NO_VERSION, UNKNOWN_SCHEMA_VERSION
from topicschema.validation.run.validators import UNREAD, column_of
from topicschema.validation.sources.pulsar.admin import Admin

VALUE: Final = "value"
CORRUPT: Final = "_corrupt"
_CORRUPT_TYPE: Final = StructType([StructField("reason", StringType()), StructField("path", StringType())])
_UNKNOWN: Final = "UNKNOWN_WRITER_VERSION"


class Mode(StrEnum):
    """Handling of messages that the schema of the reader cannot read."""

    PERMISSIVE = "PERMISSIVE"
    DROPMALFORMED = "DROPMALFORMED"
    FAILFAST = "FAILFAST"


def mode_of(text: str | None) -> Mode:
    """Return the mode. Raises InvalidOptionError for an unknown one."""
    try:
        return Mode((text or Mode.PERMISSIVE).upper())
    except ValueError:
        raise InvalidOptionError(f"option mode: {text!r}; write one of {', '.join(Mode)}") from None


def columns(reader: SchemaInfo, mode: Mode) -> dict[str, DataType]:
    """Return the columns that the reader's schema adds. Raises InvalidOptionError if it has no type in Spark."""
    try:
        value: DataType = from_arrow_type(arrow.arrow_type(reader))
    except InvalidSchemaError as error:
        raise InvalidOptionError(f"option readerSchema: {error.sentence}") from None
    return {VALUE: value, CORRUPT: _CORRUPT_TYPE} if mode is Mode.PERMISSIVE else {VALUE: value}


class TypedValues:
    """Values of the messages of a topic, by one decoder for each version."""

    def __init__(self, reader: SchemaInfo, versions: TopicVersions) -> None:
        self._reader = reader
        self._versions = versions
        self._decoders: dict[int, Decoder | None] = {}

    def add(self, admin: Admin, batch: pa.RecordBatch, mode: Mode, topic: str) -> pa.RecordBatch:
        """Return the batch with the columns `value` and `_corrupt`. With DROPMALFORMED, only good messages remain.

        Raises SourceError with FAILFAST for the first bad message.
        """
        writers = batch.column("writer").to_numpy()
        arrays: list[pa.Array] = []
        rows: list[Any] = []
        faults = _Faults(np.zeros(len(batch), np.int64), np.full(len(batch), "$", object), np.zeros(len(batch), bool))
        for writer in np.unique(writers).tolist():
            chosen = np.flatnonzero(writers == writer)
            rows.append(chosen)
            arrays.extend(self._decoded(admin, batch, chosen, faults))
        values = pa.concat_arrays(arrays)
        if len(rows) > 1:
            values = values.take(pa.array(np.argsort(np.concatenate(rows), kind="stable")))
        bad = faults.is_bad
        if bad.any() and mode is Mode.FAILFAST:
            raise _malformed(batch, topic, int(np.argmax(bad)), faults)
        typed = batch.append_column(VALUE, values)
        if mode is Mode.DROPMALFORMED:
            return typed.filter(pa.array(~bad)) if bad.any() else typed
        return typed.append_column(CORRUPT, _corrupt(faults))

    def _decoded(self, admin: Admin, batch: pa.RecordBatch, rows: Any, faults: "_Faults") -> Iterator[pa.Array]:
        """Yield the values of a version's messages, and write their faults."""
        reasons, paths, is_bad = faults
        writer = int(batch.column("writer")[int(rows[0])].as_py())
        decoder = self._decoder(admin, writer)
        if decoder is None:
            reasons[rows], is_bad[rows] = NUMBERS[UNREAD.get(writer, _UNKNOWN)], True
            yield pa.nulls(len(rows), arrow.arrow_type(self._reader))
            return
        at = 0
        payloads, keys = column_of(batch.column("payload")).only(rows), column_of(batch.column("key")).only(rows)
        for part in decoder.decode_in_parts(payloads, keys):
            taken = rows[at : at + len(part.array)]
            at += len(part.array)
            faulty = np.flatnonzero(part.verdicts.reasons)
            reasons[taken[faulty]] = part.verdicts.reasons[faulty]
            paths[taken[faulty]] = [part.paths[each] for each in part.verdicts.paths[faulty].tolist()]
            is_bad[taken] = part.is_bad
            yield part.array

    def _decoder(self, admin: Admin, writer: int) -> Decoder | None:
        """Return the decoder of a version's messages, or None if they cannot be read."""
        if writer in UNREAD or writer == UNKNOWN_SCHEMA_VERSION:
            return None
        if writer not in self._decoders:
            info = self._reader if writer == NO_VERSION else self._versions.info(admin, writer)
            version = self._versions.pulsar_version
            self._decoders[writer] = None if info is None else arrow.decoder_for(self._reader, info, version)
        return self._decoders[writer]


class _Faults(NamedTuple):
    """Arrays with the reason and the path of each message's fault, and whether it has no value because of it."""

    reasons: NDArray[np.int64]
    paths: NDArray[np.object_]
    is_bad: NDArray[np.bool_]


def _corrupt(faults: _Faults) -> pa.Array:
    is_faulty = faults.reasons != 0
    names = pa.array([REASONS[each] or None for each in faults.reasons.tolist()], pa.string())
    places = pa.array(faults.paths, pa.string(), mask=~is_faulty)
    return pa.StructArray.from_arrays([names, places], ["reason", "path"], mask=pa.array(~is_faulty))


def _malformed(batch: pa.RecordBatch, topic: str, row: int, faults: _Faults) -> SourceError:
    reasons, paths, _ = faults
    place = ":".join(str(batch.column(name)[row].as_py()) for name in ("ledger", "entry", "batch_index"))
    return SourceError(
        f"the schema cannot read the message: {REASONS[reasons[row]]} at {paths[row]}. Option mode can be PERMISSIVE "
        "or DROPMALFORMED",
        f"{topic}, {place}",
    )
