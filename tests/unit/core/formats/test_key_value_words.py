"""What a pair's refusal says: the part's own words, and where in the pair it is."""

import pytest

from topicschema.core import formats
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats.key_value import KeyValue, Part, Side, encode
from topicschema.core.schemas import SchemaInfo, SchemaType

GOOD = SchemaInfo(SchemaType.AVRO, b'"int"')


def refusal(info: SchemaInfo) -> InvalidSchemaError:
    with pytest.raises(InvalidSchemaError) as caught:
        formats.parse(info)
    return caught.value


def pair(side: Side, info: SchemaInfo) -> SchemaInfo:
    parts = {Side.KEY: Part(GOOD), Side.VALUE: Part(GOOD), side: Part(info)}
    return encode(KeyValue(parts[Side.KEY], parts[Side.VALUE]))


@pytest.mark.parametrize("side", Side)
def test_a_parts_line_and_column_are_told_in_words_as_they_are_not_the_pairs(side: Side) -> None:
    info = SchemaInfo(SchemaType.JSON, b'{"type":\n int}')
    alone, within = refusal(info), refusal(pair(side, info))
    assert within.rule == alone.rule == "SYNTAX"
    assert within.message == f"{alone.message} (line 2, column 2 of the {side}'s schema)"
    assert within.place.line is None


@pytest.mark.parametrize("side", Side)
@pytest.mark.parametrize("kind", [SchemaType.NONE, SchemaType.BYTES])
def test_a_text_that_nothing_compares_is_told_once_for_both_directions(side: Side, kind: SchemaType) -> None:
    one, other = (formats.parse(pair(side, SchemaInfo(kind, text))) for text in (b"{}", b"[]"))
    assert formats.unreadable(one, other) == ()
    [found] = formats.risks(one, other)
    assert (found.rule, found.reader_path, found.is_mutual) == ("UNCHECKED_CHANGE", f"$.{side}", True)
    assert formats.risks(one, one) == ()
