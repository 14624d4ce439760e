"""Validation of the messages of a batch, by one validator for each writer version."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from topicschema.core.errors import InvalidSchemaError
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType
from topicschema.payload.columnar import validator_for
from topicschema.payload.columnar.base import ConstantFailure
from topicschema.payload.columnar.column import Column
from topicschema.payload.columnar.verdicts import Validator, Verdicts
from topicschema.validation.errors import InvalidRequestError
from topicschema.validation.report.tally import UNKNOWN_WRITER
from topicschema.validation.run.batches import NO_VERSION, UNREADABLE

RowNumbers = NDArray[np.int64]
UNREAD: Final[Mapping[int, str]] = {
    **UNREADABLE,
    UNKNOWN_WRITER: "UNKNOWN_WRITER_VERSION",
}
"""Reasons of messages that cannot be read, or only with a key. They are not validated and do not pass."""


@dataclass(frozen=True, slots=True, eq=False)
class WriterVerdicts:
    """Verdicts on the messages of one writer in a batch. `rows` are their rows.

    `writer` is the schema version if the request has it, else UNKNOWN_WRITER.
    """

    writer: int
    rows: RowNumbers
    validator: Validator
    verdicts: Verdicts


class Validators:
    """Validators of one run in one process, each created for the first message of its version."""

    def __init__(
        self, candidate: SchemaInfo, versions: Mapping[int, SchemaInfo], pulsar_version: PulsarVersion
    ) -> None:
        self._candidate = candidate
        # A consumer reads messages without a version with its own schema, as if that had written them.
        self._writers = {**versions, NO_VERSION: candidate}
        self._pulsar_version = pulsar_version
        self._has_keys = candidate.type is SchemaType.KEY_VALUE
        self._validators: dict[int, Validator] = {
            writer: ConstantFailure(reason, offset=-1) for writer, reason in UNREAD.items()
        }

    def validate(self, batch: pa.RecordBatch) -> Iterator[WriterVerdicts]:
        """Yield the verdicts on a batch of the schema `batches.BATCH`, by writer.

        Raises InvalidRequestError if the candidate is not a valid schema.
        """
        payloads = column_of(batch.column("payload"))
        keys = column_of(batch.column("key")) if self._has_keys else None
        for writer, rows in self._by_writer(batch.column("writer").to_numpy()):
            validator = self._validator(writer)
            column = payloads.only(rows)
            if writer in UNREAD:
                column = replace(column, nulls=None)
            yield WriterVerdicts(
                writer, rows, validator, validator.validate(column, None if keys is None else keys.only(rows))
            )

    def _by_writer(self, versions: RowNumbers) -> Iterator[tuple[int, RowNumbers]]:
        """Yield each writer with its rows. All unknown versions are one writer."""
        distinct = pa.array(versions).unique().to_pylist()
        unknown = [each for each in distinct if each not in self._writers and each not in UNREAD]
        if unknown:
            versions = np.where(np.isin(versions, unknown), UNKNOWN_WRITER, versions)
            distinct = pa.array(versions).unique().to_pylist()
        for writer in distinct:
            yield writer, np.flatnonzero(versions == writer)

    def _validator(self, writer: int) -> Validator:
        if writer not in self._validators:
            try:
                validator = validator_for(self._candidate, self._writers[writer], self._pulsar_version)
            except InvalidSchemaError as error:
                raise InvalidRequestError(f"the proposed schema cannot be judged with: {error.sentence}") from None
            self._validators[writer] = validator
        return self._validators[writer]


def column_of(array: pa.Array) -> Column:
    """Return a large_binary array as a column over the same memory."""
    _, bounds, values = array.buffers()
    offsets = np.zeros(1, np.int64)
    if bounds is not None and len(array):
        offsets = np.frombuffer(bounds, np.int64)[array.offset : array.offset + len(array) + 1]
    content = np.zeros(0, np.uint8) if values is None else np.frombuffer(values, np.uint8)
    nulls = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    return Column.between(content, offsets, nulls)
