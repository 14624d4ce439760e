"""The files of a FileDescriptorSet in the order in which the broker builds them: a file's imports come before it.

Source: Pulsar's ProtobufNativeSchemaUtils.deserialize (Pulsar 4.0). Files that the root file does not need are ignored.
Of two files with one name the last one counts.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.message import DecodeError, Message

from topicschema.core.errors import InvalidSchemaError, Place
from topicschema.core.formats.protobuf_native.envelope import Envelope
from topicschema.core.formats.protobuf_native.symbols import shown

MAX_IMPORTS_IN_A_ROW: Final = 500
"""A bound below the depth at which the broker's recursion overflows its stack."""

MAX_DEFINITIONS: Final = 50_000
"""A bound of this reader: messages, fields, values and ranges of all files. That many are read in a second."""

_UNREAD: Final = frozenset({"options", "source_code_info"})


def needed(envelope: Envelope) -> Iterator[FileDescriptorProto]:
    """Yield all that the root file imports, then the root file. Raises InvalidSchemaError with the file's name.

    Rules: INVALID_DESCRIPTOR_SET, MISSING_FILE, CIRCULAR_IMPORT, TOO_DEEP. The broker builds a file before it goes on
    to the next import, so of two errors it reports the first. Yielding one by one does the same.
    """
    try:
        descriptors = FileDescriptorSet.FromString(envelope.file_descriptor_set)
    except DecodeError:
        descriptors = None
    if descriptors is None or not descriptors.IsInitialized():
        raise _unreadable("the bytes in fileDescriptorSet are no serialised FileDescriptorSet")
    left = MAX_DEFINITIONS
    for file in _ordered({file.name: file for file in descriptors.file}, envelope.root_file):
        left -= _check(file, left)
        yield file


def _check(file: FileDescriptorProto, limit: int) -> int:
    """Return the number of definitions of the file.

    Refuses more than `limit`, and strings that are not UTF-8 wherever names are allowed. Protobuf returns these as
    bytes.
    """
    waiting: list[Message] = [file]
    walked = 0
    while waiting:
        for field, value in waiting.pop().ListFields():
            if field.name in _UNREAD:
                continue
            values = (value,) if isinstance(value, str | bytes | int | float | Message) else value
            if any(isinstance(each, bytes) for each in values):
                raise _unreadable(f"a name in the file {str(file.name)!r} is not UTF-8")
            waiting += [each for each in values if isinstance(each, Message)]
        walked += 1
        if walked + len(waiting) > limit:
            raise _unreadable(f"the files define more than {MAX_DEFINITIONS:,} messages, fields, values and ranges")
    return walked


def _unreadable(message: str) -> InvalidSchemaError:
    return InvalidSchemaError("INVALID_DESCRIPTOR_SET", message, Place("$.fileDescriptorSet"))


def _ordered(files: Mapping[str, FileDescriptorProto], root: str) -> Iterator[FileDescriptorProto]:
    if root not in files:
        message = f"the file {shown(root)!r} is not in fileDescriptorSet"
        raise InvalidSchemaError("MISSING_FILE", message, Place("$.rootFileDescriptorName"))
    done: set[str] = set()
    path = {root: iter(files[root].dependency)}
    while path:
        name = next(reversed(path))
        imported = next((each for each in path[name] if each not in done), None)
        if imported is None:
            del path[name]
            done.add(name)
            yield files[name]
        else:
            _check_import(files, path, imported)
            path[imported] = iter(files[imported].dependency)


def _check_import(files: Mapping[str, FileDescriptorProto], path: dict[str, Iterator[str]], imported: str) -> None:
    importing = shown(next(reversed(path)))
    place = Place("$.fileDescriptorSet")
    if imported not in files:
        message = f"{importing} imports {shown(imported)}, which is not in fileDescriptorSet"
        raise InvalidSchemaError("MISSING_FILE", message, place)
    if imported in path:
        message = f"{importing} imports {shown(imported)}, which imports it in turn"
        raise InvalidSchemaError("CIRCULAR_IMPORT", message, place)
    if len(path) == MAX_IMPORTS_IN_A_ROW:
        message = f"more than {MAX_IMPORTS_IN_A_ROW} files import each other in a row, which no broker reads"
        raise InvalidSchemaError("TOO_DEEP", message, place)
