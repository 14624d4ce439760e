"""The sources of a schema, and the checks on them before they reach the compiler."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NoReturn

from topicschema.core.errors import InvalidSchemaError, Place
from topicschema.core.formats import json_text
from topicschema.core.schemas import digest

PATH: Final = "$.files"
MAX_FILES: Final = 256
MAX_BYTES: Final = 1024 * 1024
"""Maximum bytes of all files together. A TopicSchema cannot hold more."""
MAX_NAME: Final = 255
_OTHER_WAY: Final = (
    "give only those that the root message needs, or the Java client's envelope as the schema "
    "(docs/spec/protobuf-native.md#the-envelope-of-a-generated-class)"
)
_PART: Final = "[A-Za-z0-9_][A-Za-z0-9_.+@-]*"
_NAME: Final = re.compile(rf"({_PART}/)*{_PART}(?<=\.proto)")


@dataclass(frozen=True, slots=True)
class ProtobufSources:
    """A root message by its full name (a leading dot is allowed), and all files, by the names that imports use.

    Files under google/protobuf/ are optional. A file in `files` takes precedence.
    """

    message: str
    files: Mapping[str, str]

    @property
    def source_hash(self) -> str:
        """Hash over message and files: `sha256:` and 64 hex digits, equal only if both are equal."""
        content = [self.message.removeprefix("."), sorted(self.files.items())]
        return digest(json.dumps(content, separators=(",", ":")).encode("ascii"))


def path_of(file: str) -> str:
    """Return the JSON path of a source file, as places have it."""
    return json_text.member(PATH, file)


def file_of(path: str, files: Mapping[str, str]) -> str | None:
    """Return the source file that a place's path names, or None if the path means the sources as a whole."""
    return next((file for file in files if path == path_of(file)), None)


def is_name(name: str) -> bool:
    """Return True if a file may have that name: a plain relative path, as imports use it."""
    return len(name) <= MAX_NAME and _NAME.fullmatch(name) is not None


def check(files: Mapping[str, str]) -> None:
    """Raise InvalidSchemaError if the files may not be compiled.

    Rules: MISSING_FILE, SOURCES_TOO_LARGE, FILE_NAME, NOT_UTF8.
    """
    if not files:
        raise InvalidSchemaError("MISSING_FILE", "there is no file; give at least one", Place(PATH))
    if len(files) > MAX_FILES:
        message = f"{len(files):,} files are more than {MAX_FILES}; {_OTHER_WAY}"
        raise InvalidSchemaError("SOURCES_TOO_LARGE", message, Place(PATH))
    for name in files:
        _check_name(name)
    size = sum(len(_encoded(name, text)) for name, text in files.items())
    if size > MAX_BYTES:
        message = f"{size:,} bytes are more than {MAX_BYTES:,}; {_OTHER_WAY}"
        raise InvalidSchemaError("SOURCES_TOO_LARGE", message, Place(PATH))


def _check_name(name: str) -> None:
    if is_name(name):
        return
    shown = repr(name[:MAX_NAME])  # letters of all languages as they are
    why = (
        "write it as imports do, for instance shop/order.proto: relative, with / between folders, ending in .proto, "
        f"at most {MAX_NAME} letters, digits and . _ - + @"
    )
    raise InvalidSchemaError("FILE_NAME", f"{shown} cannot be a file's name; {why}", Place(path_of(name[:MAX_NAME])))


def _encoded(name: str, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        _refuse_text(name, text, error.start)


def _refuse_text(name: str, text: str, at: int) -> NoReturn:
    position = json_text.place_of(text, at)
    place = Place(path_of(name), position.line, position.column)
    raise InvalidSchemaError("NOT_UTF8", f"{name} is not UTF-8; save it as UTF-8", place)
