"""Files of a local folder. What cannot be read gives no verdict, and each real file is read once, by its first name.

Arrow's own listing is silent about dangling links and pipes, and follows a link that leads back to its folder.
"""

import os
import stat
from collections.abc import Iterator
from typing import Final

from pyarrow import fs

from topicschema.validation.errors import SourceError
from topicschema.validation.sources.files.opened import SourceFile

_KINDS: Final = ((stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"))
_HIDDEN: Final = (".", "_")
FileIdentity = tuple[int, int]
"""Device and inode: links of both kinds have that of their file."""


def files(system: fs.LocalFileSystem, path: str, shown: str) -> Iterator[SourceFile]:
    """Yield the file at the path, or the files below it except names that begin with a dot or underscore.

    Raises SourceError for anything that is neither a folder nor a file, or that cannot be read.
    """
    known: set[FileIdentity] = set()
    ahead = [("", path)]
    while ahead:
        below, path = ahead.pop()
        name = (shown + below).encode(errors="surrogateescape").decode(errors="backslashreplace")
        try:
            info = os.stat(path)  # noqa: PTH116  # names of any bytes, as texts
        except OSError as error:
            raise SourceError(_unreadable(path, error), name) from None
        except ValueError:
            raise SourceError("there is no such file", name) from None
        if (info.st_dev, info.st_ino) in known:
            continue
        known.add((info.st_dev, info.st_ino))
        if stat.S_ISDIR(info.st_mode):
            ahead += reversed([(f"{below}/{each}", f"{path.rstrip('/')}/{each}") for each in _names(path, name)])
        elif stat.S_ISREG(info.st_mode):
            yield _file(system, path, name, info)
        else:
            kind = next((kind for is_kind, kind in _KINDS if is_kind(info.st_mode)), "a device")
            raise SourceError(f"it is {kind}, neither a file nor a folder", name)


def _names(path: str, name: str) -> list[str]:
    try:
        return sorted(each for each in os.listdir(path) if not each.startswith(_HIDDEN))  # noqa: PTH208  # as above
    except OSError as error:
        raise SourceError(f"the folder cannot be read: {error.strerror}", name) from None


def _file(system: fs.LocalFileSystem, path: str, name: str, info: os.stat_result) -> SourceFile:
    try:
        path.encode()
    except UnicodeEncodeError:
        raise SourceError("its name is not UTF-8: rename it", name) from None
    if not os.access(path, os.R_OK):
        raise SourceError("the file may not be read", name)
    return SourceFile(name, path, info.st_size, info.st_mtime_ns, 0, system)


def _unreadable(path: str, error: OSError) -> str:
    if os.path.islink(path):  # noqa: PTH114  # as above
        return f"it is a link that leads to no file ({error.strerror})"
    return "there is no such file" if isinstance(error, FileNotFoundError) else str(error.strerror)
