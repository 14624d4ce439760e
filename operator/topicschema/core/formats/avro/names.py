"""Names in Avro schemas: validation (Schema.Name, Schema.validateName) and resolution to full names.

A simple name starts with a letter or `_`, followed by letters, digits and `_`. As in Java, these are all letters and
digits of Unicode's basic plane. Pulsar on Avro 1.12 (4.1.3 and newer) has its own validator, which accepts `$` anywhere
(CompatibleNameValidator of StructSchemaDataValidator). Only Avro 1.12 validates the namespace before the last dot, and
only where a type is defined (ParseContext.put).
"""

import unicodedata
from collections.abc import Mapping
from typing import Final

from topicschema.core.errors import InvalidSchemaError, Place
from topicschema.core.formats.avro.avro_version import Library

PRIMITIVES: Final = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})

_SHOWN = 60
_MOST_LENGTH: Final = 2**25  # hundreds of times the need of a schema of 400 kB


class LengthLimit:
    """A limit of the characters in all paths and full names of one text, which bounds memory."""

    __slots__ = ("_length",)

    def __init__(self) -> None:
        self._length = 0

    def add(self, path: str, namespace: str, names: int = 1) -> None:
        """Add a path, and names of that namespace. Raise InvalidSchemaError COMPARISON_TOO_COMPLEX beyond the limit.

        A namespace counts several times: for the lookups of a name and for its forms (`fingerprint`).
        """
        self._length += len(path) + names * len(namespace) * (4 if namespace.isascii() else 16)
        if self._length > _MOST_LENGTH:
            why = f"the paths and full names of its types have more than {_MOST_LENGTH:,} characters in all"
            todo = "shorten namespaces, or name inner types and refer to them"
            raise InvalidSchemaError("COMPARISON_TOO_COMPLEX", f"{why}; {todo}", Place())


def shown(name: object) -> str:
    """Return the name in quotes for messages, at most 60 characters long, with escapes for unprintable characters."""
    text = name if isinstance(name, str) else str(name)
    text = text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
    if text.isprintable():
        return f"'{text}'"
    return "'" + "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text) + "'"


def hint(name: str) -> str:
    """Return what the author of a reference to an unknown type most likely means and should write, or an empty text."""
    simple = name.rpartition(".")[2].lower()
    if name.lstrip().startswith(("{", "[", '"')):
        return "the schema's JSON is encoded twice: remove the quotes around it and the backslashes in it"
    if name in _COMPLEX:
        return f'\'{name}\' is no name of a type: write "type": {{"type": "{name}", ...}}'
    if name.lower() in PRIMITIVES:
        return f"the type is spelled '{name.lower()}'"
    if simple in _LOGICAL:
        rest = _LOGICAL_ATTRIBUTES.get(simple, "")
        return f'it is a logical type: write {{"type": "{_LOGICAL[simple]}", "logicalType": "{simple}"{rest}}}'
    return f"Avro's type is {_OTHERS[simple]}" if simple in _OTHERS else ""


_COMPLEX: Final = frozenset({"record", "error", "enum", "array", "map", "fixed"})
_LOGICAL: Final[Mapping[str, str]] = {
    "date": "int",
    "time-millis": "int",
    **dict.fromkeys((f"{each}-micros" for each in ("time", "timestamp", "local-timestamp")), "long"),
    **dict.fromkeys((f"{each}timestamp-{unit}" for each in ("", "local-") for unit in ("millis", "nanos")), "long"),
    "decimal": "bytes",
    "big-decimal": "bytes",
    "uuid": "string",
}
_LOGICAL_ATTRIBUTES: Final = {"decimal": ', "precision": 9, "scale": 2'}
_OTHERS: Final = {
    **dict.fromkeys(("integer", "int32", "short", "byte", "int16", "int8"), "'int'"),
    **dict.fromkeys(("int64", "bigint", "timestamp", "datetime"), "'long'"),
    **dict.fromkeys(("number", "float64", "real"), "'double'"),
    "float32": "'float'",
    "bool": "'boolean'",
    **dict.fromkeys(("text", "varchar", "char", "str"), "'string'"),
    **dict.fromkeys(("binary", "blob"), "'bytes'"),
    **dict.fromkeys(("object", "struct"), "'record' with its fields, or 'map'"),
    **dict.fromkeys(("list", "set"), "'array' with its items"),
    **dict.fromkeys(("none", "nil"), "'null'"),
    "duration": "'fixed' of the size 12 with the logicalType duration",
}
"""Types of other languages, in small letters."""


def is_plain(name: str) -> bool:
    """Return True if `name` is a simple name in ASCII.

    Nearly all names are, so call this cheap check before `check`.
    """
    return name.isascii() and name.isidentifier()


def check(name: str, path: str, library: Library) -> None:
    """Raise InvalidSchemaError INVALID_NAME if `name` is not a simple name."""
    if is_plain(name):
        return
    if not name:
        raise InvalidSchemaError("INVALID_NAME", "a name may not be empty", Place(path))
    marks = "_$" if library is Library.AVRO_1_12 else "_"
    for index, char in enumerate(name):
        if not (_is_letter(char) or char in marks or (index and _is_digit(char))):
            raise InvalidSchemaError("INVALID_NAME", _complaint(name, index, char), Place(path))


def check_namespace(full_name: str, path: str) -> None:
    """Raise InvalidSchemaError INVALID_NAME if a part before the last dot is not a simple name (Avro 1.12)."""
    for part in full_name.split(".")[:-1]:
        check(part, path, Library.AVRO_1_12)


def full(name: str, namespace: str, path: str, library: Library) -> str:
    """Return the full name of `name` within `namespace`. Raise INVALID_NAME if its last part is not a simple name."""
    if is_plain(name):
        return f"{namespace}.{name}" if namespace else name
    before, dot, simple = name.rpartition(".")
    check(simple, path, library)
    space = before if dot else namespace
    return f"{space}.{simple}" if space else simple


def _complaint(name: str, index: int, char: str) -> str:
    where = "start with" if index == 0 else "contain"
    what = shown(char)
    if char == "\ufffd":
        what = "U+FFFD, which is put in the place of text that is no valid Unicode"
    return f"the name {shown(name)} may not {where} {what}; use letters, digits and _, with no digit first"


def _is_letter(char: str) -> bool:
    return char <= "\uffff" and unicodedata.category(char) in {"Lu", "Ll", "Lt", "Lm", "Lo"}


def _is_digit(char: str) -> bool:
    return char <= "\uffff" and unicodedata.category(char) == "Nd"
