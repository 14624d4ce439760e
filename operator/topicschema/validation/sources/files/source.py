"""Messages in files: Parquet, Avro containers, JSON lines, on a volume or in pyarrow's file systems.

The module finds the files and their formats. Each format has a module of its own. A file that is broken, has another
format or has changed since the plan ends the run with its name and the place. It is not a verdict.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any, Final

import pyarrow as pa
from pyarrow import compute, fs

from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.validation import request
from topicschema.validation.errors import SourceError
from topicschema.validation.request import FileFormat, FileSource
from topicschema.validation.run.batches import NO_VERSION
from topicschema.validation.sources import OWN_WRITERS, Plan, Split
from topicschema.validation.sources.files import avro, compressed, json_lines, local, parquet
from topicschema.validation.sources.files.opened import Piece, SourceFile

SPLIT_BYTES: Final = 32 * 1024 * 1024
"""Approximate bytes of a file that are read at once."""
_STORES: Final = frozenset({"s3", "gcs"})
"""Arrow's names of file systems whose paths begin with a bucket."""
_HIDDEN: Final = re.compile(r"/[._]")
_FORMS: Final[Mapping[FileFormat, Any]] = MappingProxyType(
    {FileFormat.PARQUET: parquet, FileFormat.AVRO: avro, FileFormat.JSON: json_lines}
)
_ENDINGS: Final[Mapping[str, FileFormat]] = MappingProxyType(
    {
        ".parquet": FileFormat.PARQUET,
        ".avro": FileFormat.AVRO,
        ".json": FileFormat.JSON,
        ".jsonl": FileFormat.JSON,
        ".ndjson": FileFormat.JSON,
    }
)


@dataclass(frozen=True, slots=True)
class _Part:
    """Content of a split of files. `writer` is the number of the schema in the file, if it has one."""

    file: SourceFile
    form: FileFormat
    piece: Piece
    writer: int | None


@dataclass(frozen=True, slots=True)
class FileMessages:
    """Source of messages in files. With `has_keys`, keys are separate from payloads."""

    files: FileSource
    split_bytes: int = SPLIT_BYTES
    has_keys: bool = False

    def plan(self) -> Plan:
        """Return the pieces of all files at their current size.

        Raises SourceError if a file is missing or unreadable.
        """
        files = [replace(each, number=number) for number, each in enumerate(chain(*map(_files, self.files.uris)))]
        writers: dict[bytes, int] = {}
        splits = [each for file in files for each in self._splits(file, writers)]
        uris = tuple(each.uri for each in files)
        return Plan(
            splits=tuple(splits),
            read_to={each.uri: f"{each.size} bytes" for each in files},
            names=() if self.files.columns.partition else uris,
            files=uris,
            writers={number: SchemaInfo(SchemaType.AVRO, schema) for schema, number in writers.items()},
            bytes=sum(each.size for each in files),
        )

    def _splits(self, file: SourceFile, writers: dict[bytes, int]) -> Iterator[Split]:
        compressed.demand_unpacked_name(file)
        form = self.files.format or _form_of(file)
        number = writers.setdefault(avro.writer(file), OWN_WRITERS - len(writers)) if form is FileFormat.AVRO else None
        demanded = self.files.columns.demanded(has_keys=self.has_keys)
        for piece in _FORMS[form].pieces(file, self.split_bytes, demanded):
            yield Split(_Part(file, form, piece, number), piece.messages)

    def read(self, split: Split) -> Iterator[pa.RecordBatch]:
        """Yield the split's messages."""
        part: _Part = split.what
        instead = self.files.version if part.writer is None else part.writer
        for batch in _FORMS[part.form].read(part.file, part.piece, self.files.columns):
            yield batch if instead is None else _written_with(batch, instead)


def _written_with(batch: pa.RecordBatch, version: int) -> pa.RecordBatch:
    """Return the batch with this version as the writer of messages without one."""
    at = batch.schema.get_field_index("writer")
    writers = batch.column(at)
    writers = compute.if_else(compute.equal(writers, NO_VERSION), pa.scalar(version, pa.int64()), writers)
    return batch.set_column(at, batch.schema.field(at), writers)


def _files(uri: str) -> Iterator[SourceFile]:
    """Yield the files of a URI. Of a folder, these are all files except names that begin with a dot or underscore."""
    shown = request.shown(uri)
    try:
        system, path = (
            fs.FileSystem.from_uri(uri) if "://" in uri else (fs.LocalFileSystem(), str(Path(uri).absolute()))
        )
        if isinstance(system, fs.LocalFileSystem):
            yield from local.files(system, path, shown)
            return
        info = system.get_file_info(path)
        if info.type is fs.FileType.NotFound:
            raise SourceError(_missing(system, path), shown)
        is_folder = info.type is fs.FileType.Directory
        infos = system.get_file_info(fs.FileSelector(path, recursive=True)) if is_folder else [info]
    except (OSError, ValueError, pa.ArrowException) as error:
        raise SourceError(str(error).split("\n", 1)[0].replace(uri, shown)[:300], shown) from None
    for each in sorted(infos, key=lambda each: each.path):
        below = each.path.removeprefix(path)
        if each.type is fs.FileType.File and not _HIDDEN.search(below):
            yield SourceFile(shown + below, each.path, each.size, each.mtime_ns, 0, system)


def _missing(system: fs.FileSystem, path: str) -> str:
    """Return the error for the missing part of a path."""
    bucket, _, _ = path.partition("/")
    if system.type_name in _STORES and system.get_file_info(bucket).type is fs.FileType.NotFound:
        return f"there is no bucket {bucket!r}"
    return "there is no such file"


def _form_of(file: SourceFile) -> FileFormat:
    ending = PurePosixPath(file.path).suffix.lower()
    if ending not in _ENDINGS:
        known = ", ".join(_ENDINGS)
        wish = "say which it is (--format, source.files.format)"
        raise SourceError(f"its name does not show its format ({known}); {wish}", file.uri)
    return _ENDINGS[ending]
