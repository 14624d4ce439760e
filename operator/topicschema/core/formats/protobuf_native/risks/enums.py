"""Comparison of two enums: the writer's numbers, which are on the wire, and its names, which are in JSON."""

from collections.abc import Iterator

from topicschema.core.formats.format import Mismatch
from topicschema.core.formats.protobuf_native.risks.sides import EnumPair, finding
from topicschema.core.formats.protobuf_native.symbols import shown


def compare(pair: EnumPair) -> Iterator[Mismatch]:
    """Yield the findings that do not depend on which enum is the newer."""
    where = pair.reader.full_name, pair.writer.full_name
    if pair.is_closed and not pair.was_closed:
        message = (
            "{writer} may send numbers that the enum does not have, and {reader} drops them; keep enum_type = OPEN"
        )
        yield finding("ENUM_CLOSED", message, *where)
    first, before = (next(iter(each.values.items())) for each in (pair.reader, pair.writer))
    if first[1] != before[1]:
        message = (
            f"a field that is not set means {shown(before[0])} ({before[1]}) in {{writer}} and {shown(first[0])} "
            f"({first[1]}) in {{reader}}; keep the first value"
        )
        yield finding("ENUM_DEFAULT_CHANGED", message, *where, is_mutual=True)
    for name, number in pair.writer.values.items():
        yield from _value(pair, name, number)


def _value(pair: EnumPair, name: str, number: int) -> Iterator[Mismatch]:
    read = pair.reader.values.get(name, number)
    place, written = f"{pair.reader.full_name}.{name}", f"{pair.writer.full_name}.{name}"
    if read != number:
        message = (
            f"{shown(name)} is {number} in {{writer}} and {read} in {{reader}}, which reads {number} as something "
            "else; a value keeps its number"
        )
        yield finding("ENUM_VALUE_RENUMBERED", message, place, written, is_mutual=True)
    elif number not in pair.names_read:
        if pair.is_closed and pair.names_written[number] == name:
            message = (
                f"{{reader}} does not know {shown(name)} ({number}) and drops it; keep it, or upgrade readers first"
            )
            yield finding("ENUM_VALUE_UNKNOWN", message, pair.reader.full_name, written)
    elif name not in pair.reader.values and pair.names_written[number] == name:
        now = pair.names_read[number]
        message = (
            f"{number} is called {shown(name)} in {{writer}} and {shown(now)} in {{reader}}, which does not know the "
            "name in JSON; keep it as the first, other names behind it with allow_alias"
        )
        is_mutual = now not in pair.writer.values
        yield finding("ENUM_VALUE_RENAMED", message, f"{pair.reader.full_name}.{now}", written, is_mutual=is_mutual)
