"""Verdicts on messages in files: Parquet, Avro containers and JSON lines, as in a validation of files."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Self

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from typing_extensions import override

from topicschema.core.formats.key_value import has_keys_apart
from topicschema.core.schemas import NEWEST, SchemaInfo
from topicschema.spark.errors import InvalidOptionError
from topicschema.spark.incompatibilities import CURRENT, NO_STRATEGY, ProposedStrategy, VersionComparisons
from topicschema.spark.options import items_of
from topicschema.spark.proposal import proposal, proposal_of
from topicschema.validation.request import Columns, FileFormat, FileSource
from topicschema.validation.run import spark_worker

if TYPE_CHECKING:
    from topicschema.validation.run.validators import Validators
    from topicschema.validation.sources import Split
    from topicschema.validation.sources.files.source import FileMessages

_SPLIT_BYTES: Final = 64 << 20
_COLUMNS: Final = {
    "payloadColumn": "payload",
    "keyColumn": "key",
    "schemaVersionColumn": "schema_version",
    "publishTimeColumn": "publish_time",
    "partitionColumn": "partition",
}
OPTIONS: Final = ("files", "fileFormat", "history", "writtenWith", "schema", "schemaType", "columns", *_COLUMNS)


@dataclass(frozen=True, slots=True)
class FileOptions:
    """Files to read, the schema to read them with, and the versions that wrote their messages, from number 0 on.

    `strategy` compares the schema, which is then the last version, with the others.
    """

    files: FileSource
    reader: SchemaInfo
    versions: Mapping[int, SchemaInfo]
    columns: tuple[str, ...] | None = None
    strategy: ProposedStrategy = NO_STRATEGY

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Self:
        """Return the options. Raises InvalidOptionError for an unknown, missing or invalid one."""
        values = _by_name(options)
        schema_type = values.get("schemaType")
        texts = items_of("history", values["history"]) if "history" in values else ()
        names = ("history", "schemaType")
        versions = {number: _required(proposal_of(names, text, schema_type).info) for number, text in enumerate(texts)}
        proposed = proposal(values.get("schema"), schema_type)
        if proposed.info is None and not versions:
            raise InvalidOptionError("option schema: the current schema is the last one of the option history")
        reader = proposed.info or versions[len(versions) - 1]
        columns = items_of("columns", values["columns"]) if "columns" in values else None
        return cls(_files(values, versions), reader, versions, columns, proposed.strategy)


def _by_name(options: Mapping[str, str]) -> dict[str, str]:
    known = {name.lower(): name for name in OPTIONS}
    unknown = sorted(name for name in options if name.lower() not in known)
    if unknown:
        raise InvalidOptionError(f"option {unknown[0]} does not exist for files. The options are {', '.join(OPTIONS)}")
    return {known[name.lower()]: value for name, value in options.items()}


def _required(info: SchemaInfo | None) -> SchemaInfo:
    if info is None:
        raise InvalidOptionError(f"option history: {CURRENT} is no schema of a file")
    return info


def _files(values: Mapping[str, str], versions: Mapping[int, SchemaInfo]) -> FileSource:
    form = values.get("fileFormat")
    if form is not None and form not in FileFormat.__members__.values():
        raise InvalidOptionError(f"option fileFormat: {form!r}; write one of {', '.join(FileFormat)}")
    version = values.get("writtenWith")
    if version is not None and version not in map(str, versions):
        raise InvalidOptionError(f"option writtenWith: {version!r}: the option history has no schema of that number")
    names = {_COLUMNS[name]: value for name, value in values.items() if name in _COLUMNS}
    return FileSource(
        items_of("files", values["files"]),
        None if form is None else FileFormat(form),
        replace(Columns(), **names),
        None if version is None else int(version),
    )


class FileReader(DataSourceReader):
    """Reader of the verdicts on the messages in files."""

    def __init__(self, options: FileOptions, schema: pa.Schema) -> None:
        self._options = options
        self._schema = schema

    @override
    def partitions(self) -> list[InputPartition]:
        """Return a task for each piece of a file. A file that changes after that is an error."""
        plan = self.source().plan()
        tasks = [InputPartition((split, plan.files, dict(plan.writers))) for split in plan.splits]
        return tasks or [InputPartition(())]

    @override
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a task."""
        from topicschema.spark import counting  # noqa: PLC0415  # numba takes seconds, and the plan does not need it

        if not partition.value:
            return
        split, files, writers = partition.value
        validators = counting.validators_of(self._options.reader, {**self._options.versions, **writers})
        for batch in self._rows(validators, split, files):
            yield batch.select(self._schema.names).cast(self._schema)
        spark_worker.settle()

    def _rows(self, validators: "Validators", split: "Split", files: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the messages in a split."""
        from topicschema.spark import counting  # noqa: PLC0415  # as above

        versions, strategy = self._options.versions, self._options.strategy
        current = (len(versions) - 1 if versions else None, self._options.reader)
        comparisons = VersionComparisons(strategy, current, versions, NEWEST)
        return counting.of_files(self.source(), validators, split, files, comparisons)

    def source(self) -> "FileMessages":
        """Return the source of the messages."""
        from topicschema.validation.sources.files.source import FileMessages  # noqa: PLC0415  # Arrow's file systems

        return FileMessages(self._options.files, _SPLIT_BYTES, has_keys=has_keys_apart(self._options.reader))
