"""Bodies and paths of requests, read as the broker's Jackson and Jersey read them.

Source: PostSchemaPayload, SchemasResourceBase and TopicName (Pulsar 4.0), Jackson 2.17.
"""

import json
import re
from dataclasses import dataclass, replace
from typing import Any, Final, NoReturn
from urllib.parse import unquote, unquote_plus

from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats import key_value
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.core.topics import Topic, is_entity, without_partition
from topicschema.registry.answers import Form, RestError, failure

_BLANK: Final = " \t\r\n"
_BROKEN_ESCAPE: Final = re.compile("%(?![0-9A-Fa-f]{2})")
_MATRIX_PARAMETERS: Final = re.compile(";[^/]*")
_WORDS: Final = {True: "true", False: "false"}
_NULL: Final = "java.lang.NullPointerException"
_AUTO: Final = "AUTO"
"""An old name of AUTO_PUBLISH."""
_LONG: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)
_MOST_LONG: Final = 2**63 - 1
_MOST_DIGITS: Final = 19
_MOST_CHARACTERS: Final = 1_000
"""Those of a number: Jackson's StreamReadConstraints."""


class Spelling(str):
    """A number of a JSON text, as it is spelled."""

    __slots__ = ()


def _refuse(word: str) -> NoReturn:
    raise ValueError(word)


def _number(text: str) -> Spelling:
    return Spelling(text) if len(text) <= _MOST_CHARACTERS else _refuse("a number is too long")


_DECODER: Final = json.JSONDecoder(parse_constant=_refuse, parse_int=_number, parse_float=_number)


def loads(text: str) -> Any:
    """Return the JSON value of the text. Raises ValueError."""
    return _DECODER.decode(text.removeprefix("\ufeff").strip(_BLANK))


def schema_of(body: Any, *, is_stored: bool) -> SchemaInfo:
    """Return the schema of a PostSchemaPayload in the form in which the broker stores it, if it `is_stored`.

    Raises RestError: 400 for members of a wrong kind, 500 for an unknown type, for what is missing, and for a property
    that is null and is to be stored.
    """
    if body is None:
        raise failure('Cannot invoke "PostSchemaPayload.getType()" because "payload" is null', _NULL)
    if not isinstance(body, dict):
        raise _mismatch("PostSchemaPayload", body)
    members = [_text(body, name) for name in ("type", "schema")]
    properties = _properties(body.get("properties"))
    kind, text = members
    if kind is None:
        raise failure("Name is null", _NULL)
    kind = SchemaType.AUTO_PUBLISH if kind == _AUTO else kind
    if kind not in SchemaType.__members__:
        raise failure(f"No enum constant org.apache.pulsar.common.schema.SchemaType.{kind}")
    if text is None:
        raise failure('Cannot invoke "String.getBytes(java.nio.charset.Charset)" because the schema is null', _NULL)
    missing = next((name for name, value in properties.items() if value is None), None)
    if missing is not None and is_stored:
        raise failure(f"the property {missing} is null", _NULL)
    texts = {name: value for name, value in properties.items() if value is not None}
    return SchemaInfo(SchemaType(kind), _stored(SchemaType(kind), text), texts)


def _stored(kind: SchemaType, text: str) -> bytes:
    if kind is not SchemaType.KEY_VALUE:
        return text.encode(errors="replace")
    try:
        return key_value.payload_of(text)
    except InvalidSchemaError as error:
        raise failure(error.sentence, "com.google.gson.JsonSyntaxException") from None


def _text(body: dict[str, Any], name: str) -> str | None:
    value = body.get(name)
    if isinstance(value, dict | list):
        raise _mismatch("java.lang.String", value)
    return _WORDS[value] if isinstance(value, bool) else value


def _properties(value: Any) -> dict[str, str | None]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _mismatch("java.util.LinkedHashMap<java.lang.String,java.lang.String>", value)
    return {name: _text(value, name) for name in value}


def _mismatch(java_type: str, value: Any) -> RestError:
    token = "Array" if isinstance(value, list) else "Object" if isinstance(value, dict) else "String"
    return RestError(400, f"Cannot deserialize value of type `{java_type}` from {token} value", Form.TEXT)


def version_of(text: str) -> int:
    """Return the number of a version in a path, as Java's Long.parseLong reads it."""
    digits = text.lstrip("+-0") or "0"
    if _LONG.fullmatch(text) and len(digits) <= _MOST_DIGITS:
        number = -int(digits) if text.startswith("-") else int(digits)
        if -_MOST_LONG - 1 <= number <= _MOST_LONG:
            return number
    raise failure(f'For input string: "{text[:200]}"', "java.lang.NumberFormatException")


@dataclass(frozen=True, slots=True)
class RequestPath:
    """The names in a path: the registry ("" for the default one), the kind of its resource, its parts and the call.

    `parts` are tenant and namespace, and the local name of a topic. They are decoded once, and `named` checks them.
    """

    registry: str
    root: str
    parts: tuple[str, ...]
    call: tuple[str, ...]

    @property
    def topic(self) -> Topic:
        """The topic."""
        return Topic(*self.parts)

    @property
    def pulsar_namespace(self) -> str:
        """`tenant/namespace`."""
        return "/".join(self.parts[:2])

    def named(self) -> "RequestPath":
        """Return the path with the topic's name as the broker reads it. A partition names its topic.

        Raises RestError: 412 for invalid names, 500 for a topic with an invalid escape.
        """
        is_topic = self.root == "schemas"
        parts = (*self.parts[:2], *map(_local_name, self.parts[2:]))
        if not all(map(is_entity, parts[:2])) or not all(map(_is_local_name, parts[2:])):
            raise RestError(412, f"{'Topic' if is_topic else 'Namespace'} name is not valid")
        return replace(self, parts=parts)


_PARTS: Final = {"schemas": 3, "namespaces": 2}


def target_of(raw_path: str) -> RequestPath:
    """Return what the path names. Raises RestError: 404 for another path, 400 for one that is no URI."""
    path = _MATRIX_PARAMETERS.sub("", raw_path.partition("?")[0])
    if _BROKEN_ESCAPE.search(path) or "%00" in path:
        raise RestError(400, "Bad URI", Form.PAGE)
    parts = path.removesuffix("/").split("/")[1:]
    registry = "" if parts[:1] == ["admin"] else unquote("".join(parts[:1]))
    parts = parts[1:] if registry else parts
    root = parts[2] if len(parts) > 2 else ""  # noqa: PLR2004 - admin, v2 and the root
    count = _PARTS.get(root, 0)
    if parts[:2] != ["admin", "v2"] or not count or len(parts) < 3 + count or "" in parts:
        raise RestError(404, "Not Found", Form.PAGE)
    return RequestPath(registry, root, tuple(map(unquote, parts[3 : 3 + count])), tuple(parts[3 + count :]))


def _is_local_name(name: str) -> bool:
    """Return True if the broker takes the name. One with a slash is a namespace and a topic of Pulsar 1."""
    namespace, slash, rest = name.partition("/")
    return bool(rest.strip()) and is_entity(namespace) if slash else bool(name.strip())


def _local_name(once: str) -> str:
    """Return the topic's local name.

    The broker decodes it twice, the second time with `+` as a space. It also removes `-partition-N` twice: from the
    name, and from the schema's id.
    """
    if _BROKEN_ESCAPE.search(once):
        raise RestError(500, f"Illegal hex characters in escape (%) pattern: {once[:200]}", Form.PAGE)
    return without_partition(without_partition(unquote_plus(once)))
