"""Compressed files, which are not read: their names and first bytes."""

from typing import Final

from topicschema.validation.errors import SourceError
from topicschema.validation.sources.files.opened import SourceFile

_REMEDY: Final = "compressed files are not read: unpack it"
_ENDINGS: Final = (".gz", ".gzip", ".tgz", ".zst", ".zstd", ".bz2", ".xz", ".lzma", ".lz4", ".sz", ".snappy", ".br")
_ARCHIVES: Final = (".zip", ".tar", ".7z")
_BEGINNINGS: Final = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ\0", b"\x04\x22\x4d\x18", b"PK\3\4")
"""Of gzip, Zstandard, bzip2, xz, LZ4 and ZIP."""


def demand_unpacked_name(file: SourceFile) -> None:
    """Raise SourceError if the file's name ends like that of a compressed one."""
    if file.path.lower().endswith((*_ENDINGS, *_ARCHIVES)):
        raise SourceError(_REMEDY, file.uri)


def demand_unpacked(head: bytes, file: SourceFile) -> None:
    """Raise SourceError if a text's first bytes are those of a compressed file."""
    if head.startswith(_BEGINNINGS):
        raise SourceError(_REMEDY, file.uri)
