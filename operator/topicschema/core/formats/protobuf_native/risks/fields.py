"""Comparison of two fields with one number: names, cardinality, presence and defaults."""

from collections.abc import Iterator

from topicschema.core.formats.format import Mismatch
from topicschema.core.formats.protobuf_native.model import Kind, Presence
from topicschema.core.formats.protobuf_native.risks import types
from topicschema.core.formats.protobuf_native.risks.sides import HOLDERS, FieldSide, MessagePair, finding, json_name
from topicschema.core.formats.protobuf_native.symbols import shown


def reused(reader: FieldSide, writer: FieldSide) -> Mismatch:
    """Return the finding for a number that has two meanings."""
    message = (
        f"field {reader.field.number} is {writer.name} ({writer.type}) in {{writer}} and {reader.name} "
        f"({reader.type}) in {{reader}}, which reads the one as the other; a new field takes a number never used before"
    )
    return finding("FIELD_NUMBER_REUSED", message, reader.where, writer.where, is_mutual=True)


def compare(pair: MessagePair, reader: FieldSide, writer: FieldSide) -> Iterator[Mismatch]:
    """Yield what happens to the writer's field in the reader's."""
    yield from _names(pair, reader, writer)
    yield from _counts(reader, writer)
    changes = [each for one, other in parts(reader, writer) for each in types.compare(one, other)]
    yield from changes
    yield from _presence(reader, writer)
    if not any(each.rule == "FIELD_TYPE_CHANGED" for each in changes):
        yield from _default(reader, writer)


def parts(reader: FieldSide, writer: FieldSide) -> Iterator[tuple[FieldSide, FieldSide]]:
    """Yield the parts that have a type: the field itself, or the keys and the values of two maps."""
    if reader.key and reader.value and writer.key and writer.value:
        yield reader.key, writer.key
        yield reader.value, writer.value
    else:
        yield reader, writer


def _names(pair: MessagePair, reader: FieldSide, writer: FieldSide) -> Iterator[Mismatch]:
    name = json_name(writer.field)
    is_same_in_json = pair.numbers_in_json.get(name) == [reader.field.number]
    is_renamed = reader.field.name != writer.field.name
    called = f"field {reader.field.number} is called {writer.name} in {{writer}} and {reader.name} in {{reader}}"
    if is_renamed and is_same_in_json:
        message = f"{called}: generated code changes; keep the name"
        yield finding("FIELD_RENAMED_IN_CODE", message, reader.where, writer.where, is_mutual=True)
    elif is_renamed:
        message = f"{called}, which does not find {shown(name)} in JSON; keep the name, or at least its json_name"
        is_mutual = json_name(reader.field) not in (name, writer.field.name)
        yield finding("FIELD_RENAMED", message, reader.where, writer.where, is_mutual=is_mutual)
    elif not is_same_in_json:
        message = (
            f"{reader.name} is {shown(name)} in JSON of {{writer}}, and {shown(json_name(reader.field))} to "
            "{reader}, which does not find it; keep its json_name"
        )
        yield finding("JSON_NAME_CHANGED", message, reader.where, writer.where)


def _counts(reader: FieldSide, writer: FieldSide) -> Iterator[Mismatch]:
    if writer.is_repeated and not reader.is_repeated:
        rule, message = "REPEATED_READ_AS_SINGULAR", "many values in {writer} and one in {reader}, which drops the rest"
    elif reader.is_repeated and not writer.is_repeated:
        rule, message = "SINGULAR_READ_AS_REPEATED", "one value in {writer} and a list in {reader}: not so in JSON"
    elif reader.entry and not writer.entry:
        rule, message = "REPEATED_READ_AS_MAP", "a list in {writer} and a map in {reader}, which keeps one of each key"
    elif writer.entry and not reader.entry:
        rule, message = "MAP_READ_AS_REPEATED", "a map in {writer} and a list in {reader}: not so in JSON"
    else:
        return
    message = f"{reader.name} is {message}; add a field beside it"
    yield finding(rule, message, reader.where, writer.where)


def _presence(reader: FieldSide, writer: FieldSide) -> Iterator[Mismatch]:
    are_grouped = reader.field.oneof or writer.field.oneof
    is_known = reader.field.presence is not Presence.IMPLICIT
    if reader.is_repeated or writer.is_repeated or are_grouped or not HOLDERS.isdisjoint(_kinds(reader, writer)):
        return
    if is_known != (writer.field.presence is not Presence.IMPLICIT):
        knows, not_knows = ("{reader}", "{writer}") if is_known else ("{writer}", "{reader}")
        message = (
            f"{knows} distinguishes an unset {reader.name} from a zero, {not_knows} does not; keep `optional`, "
            "or field_presence, as it was"
        )
        yield finding("PRESENCE_CHANGED", message, reader.where, writer.where, is_mutual=True)


def _default(reader: FieldSide, writer: FieldSide) -> Iterator[Mismatch]:
    if reader.is_repeated or writer.is_repeated or not HOLDERS.isdisjoint(_kinds(reader, writer)):
        return
    read, written = _default_text(reader), _default_text(writer)
    is_explicit = reader.field.default is not None or writer.field.default is not None
    if read != written and (is_explicit or reader.field.kind is not writer.field.kind):
        message = (
            f"{reader.name} means {shown(written) or 'nothing'} in {{writer}} where it is not set, and "
            f"{shown(read) or 'nothing'} in {{reader}}; keep the default"
        )
        yield finding("DEFAULT_CHANGED", message, reader.where, writer.where, is_mutual=True)


def _kinds(reader: FieldSide, writer: FieldSide) -> tuple[Kind, Kind]:
    return reader.field.kind, writer.field.kind


def _default_text(side: FieldSide) -> str:
    """Return the default as protoc writes it. For an enum it is the number, so that a value may be renamed."""
    field = side.field
    if side.enum is not None:
        values = side.enum.values
        return str(values[field.default] if field.default is not None else next(iter(values.values())))
    if field.kind is Kind.BOOL:
        return "1" if field.default == "true" else "0"
    if field.default is not None:
        return field.default
    return "" if field.kind in (Kind.STRING, Kind.BYTES) else "0"
