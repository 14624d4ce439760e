"""KEY_VALUE: a pair of schemas, each parsed and compared by its own type. docs/spec/key-value.md has the rules.

Two pairs are equal for the broker if their bytes are equal. Types, names and encoding are properties, which do not
count.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from topicschema.core.errors import InvalidSchemaError, Place
from topicschema.core.formats.format import Format, Mismatch
from topicschema.core.formats.key_value import risks
from topicschema.core.formats.key_value.model import Encoding, KeyValue, Part, Side
from topicschema.core.formats.key_value.payload import join
from topicschema.core.formats.key_value.properties import decode, encode, has_keys_apart
from topicschema.core.formats.key_value.rest_form import compacted, payload_of, text_of
from topicschema.core.schemas import PulsarVersion, Schema, SchemaInfo, SchemaType, fingerprint_of_bytes
from topicschema.core.steps import Steps

__all__ = [
    "Encoding",
    "KeyValue",
    "KeyValueFormat",
    "KeyValueSchema",
    "Part",
    "Side",
    "compacted",
    "decode",
    "encode",
    "has_keys_apart",
    "join",
    "payload_of",
    "self_risks",
    "text_of",
    "within",
]


@dataclass(frozen=True, slots=True)
class KeyValueSchema:
    """A parsed KEY_VALUE schema: the pair as it is written, and both parsed parts."""

    info: SchemaInfo
    pair: KeyValue
    key: Schema
    value: Schema
    fingerprint: str


def self_risks(schema: KeyValueSchema) -> tuple[Mismatch, ...]:
    """Return the pair's own risks, which do not depend on earlier versions."""
    return tuple(risks.self_risks(schema.pair, schema.info.properties))


class KeyValueFormat:
    """The Format of KEY_VALUE, whose parts may have the types in `formats`, or none."""

    has_checker = True

    def __init__(self, formats: Mapping[SchemaType, Format]) -> None:
        opaque = dict.fromkeys((SchemaType.NONE, SchemaType.BYTES), _OPAQUE)
        self._formats: Mapping[SchemaType, Format] = MappingProxyType({**formats, **opaque})

    def parse(
        self, info: SchemaInfo, pulsar_version: PulsarVersion, *, validate_defaults: bool = True
    ) -> KeyValueSchema:
        """Return the schema. Raises InvalidSchemaError with a place that begins with `$.key` or `$.value`.

        Defaults are not validated: invalid ones make only the broker's dedupe by structure fail, which pairs do not
        have.
        """
        del validate_defaults
        pair = decode(info)
        key, value = (self._parse(side, part.info, pulsar_version) for side, part in pair.parts)
        return KeyValueSchema(info, pair, key, value, fingerprint_of_bytes(info.type, info.schema))

    def compares(self, schema: KeyValueSchema) -> bool:
        """Return True if a part is compared."""
        return any(self._formats[part.info.type].compares(part) for part in (schema.key, schema.value))

    def unreadable(self, reader: KeyValueSchema, writer: KeyValueSchema, steps: Steps) -> tuple[Mismatch, ...]:
        """Return the changes of the parts' types, and all that the reader's parts cannot read of the writer's."""
        return (
            *self._between(Side.KEY, reader.key, writer.key, steps),
            *self._between(Side.VALUE, reader.value, writer.value, steps),
        )

    def risks(self, reader: KeyValueSchema, writer: KeyValueSchema, steps: Steps) -> tuple[Mismatch, ...]:
        """Return what the reader loses or misreads because of the encoding or of its parts."""
        return (
            *risks.between(reader.pair, writer.pair),
            *self._risks_between(Side.KEY, reader.key, writer.key, steps),
            *self._risks_between(Side.VALUE, reader.value, writer.value, steps),
        )

    def _parse(self, side: Side, info: SchemaInfo, pulsar_version: PulsarVersion) -> Schema:
        known = self._formats.get(info.type)
        if known is None:
            message = f"{info.type} is a client's setting; no {side} can have it as its type"
            raise InvalidSchemaError("UNSUPPORTED_TYPE", message, Place(f"$.{side}"))
        if info.type not in (SchemaType.NONE, SchemaType.BYTES) and info.schema.startswith((b'"{', b'"[')):
            message = f"the {side}'s schema is a text that holds JSON; write the JSON itself, without quotes around it"
            raise InvalidSchemaError("PART_DOUBLE_ENCODED", message, Place(f"$.{side}"))
        try:
            return known.parse(info, pulsar_version, validate_defaults=False)
        except InvalidSchemaError as error:
            raise within(side, error) from None

    def _between(self, side: Side, reader: Schema, writer: Schema, steps: Steps) -> Iterator[Mismatch]:
        if reader.info.type is not writer.info.type:
            message = f"{{reader}} has a {side} of type {reader.info.type}, {{writer}} of type {writer.info.type}"
            yield Mismatch("PART_TYPE_CHANGED", message, f"$.{side}", f"$.{side}", is_mutual=True)
            return
        yield from _of_part(side, self._formats[reader.info.type].unreadable(reader, writer, steps))

    def _risks_between(self, side: Side, reader: Schema, writer: Schema, steps: Steps) -> Iterator[Mismatch]:
        if reader.info.type is writer.info.type:
            yield from _of_part(side, self._formats[reader.info.type].risks(reader, writer, steps))


@dataclass(frozen=True, slots=True)
class _OpaqueSchema:
    """A part that the broker does not check."""

    info: SchemaInfo
    fingerprint: str


class _Opaque:
    """The Format of NONE and BYTES, which as parts may have any text."""

    has_checker = False

    def parse(
        self, info: SchemaInfo, pulsar_version: PulsarVersion, *, validate_defaults: bool = True
    ) -> _OpaqueSchema:
        """Return the schema, with any text."""
        del pulsar_version, validate_defaults
        return _OpaqueSchema(info, fingerprint_of_bytes(info.type, info.schema))

    def compares(self, schema: _OpaqueSchema) -> bool:
        """Return False: the broker does not compare them."""
        del schema
        return False

    def unreadable(self, reader: _OpaqueSchema, writer: _OpaqueSchema, steps: Steps) -> tuple[Mismatch, ...]:
        """Return nothing: the broker does not compare them."""
        del reader, writer, steps
        return ()

    def risks(self, reader: _OpaqueSchema, writer: _OpaqueSchema, steps: Steps) -> tuple[Mismatch, ...]:
        """Return a risk if the text changed, because nothing compares it."""
        del steps
        if reader.info.schema == writer.info.schema:
            return ()
        where = f"{{writer}} and {{reader}} have different texts in a key or value of type {reader.info.type}"
        message = f"{where}, and nothing compares them; give it the type of its schema"
        return (Mismatch("UNCHECKED_CHANGE", message, "$", "$", is_mutual=True),)


_OPAQUE = _Opaque()


def _of_part(side: Side, mismatches: Iterable[Mismatch]) -> Iterator[Mismatch]:
    for each in mismatches:
        yield replace(each, reader_path=_path(side, each.reader_path), writer_path=_path(side, each.writer_path))


def _path(side: Side, path: str) -> str:
    """Return a place in a part as one in the pair's REST form: `$.fields[1]` of the key is `$.key.fields[1]`."""
    return f"$.{side}{path[1:]}"


def within(side: Side, error: InvalidSchemaError) -> InvalidSchemaError:
    """Return the refusal of a part as one of the pair.

    Line and column, which are the part's own, move into the message.
    """
    place = error.place
    where = "" if place.line is None else f" (line {place.line}, column {place.column} of the {side}'s schema)"
    inside = Place(_path(side, place.path))
    return InvalidSchemaError(error.rule, f"{error.message}{where}", inside, escapes=error.escapes)
