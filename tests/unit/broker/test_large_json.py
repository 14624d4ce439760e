"""Large JSON texts are read in pieces, to what they would be at once, while others go on."""

import json
from collections.abc import Coroutine

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.turns import counted
from topicschema.broker import large_json

LARGE = large_json._LARGE
FILLING = "x" * 1000
MEMBERS = [{"version": number, "data": FILLING} for number in range(LARGE // 500)]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=4,
)


def body(value: object, **written: object) -> bytes:
    return json.dumps(value, **written).encode()  # type: ignore[arg-type]


def json_reads(text: str) -> object:
    """What Python's own reader makes of it; the class of its error where it refuses."""
    try:
        return json.loads(text)
    except ValueError:
        return ValueError


def at_once(reading: Coroutine[object, object, object]) -> object:
    """What a reading comes to that never waits for anybody; as above where it is refused."""
    try:
        reading.send(None)
    except StopIteration as end:
        return end.value
    except ValueError:
        return ValueError
    raise AssertionError("it waits")


@pytest.mark.parametrize(
    "large",
    [
        body(MEMBERS),
        body({"getSchemaResponses": MEMBERS}),
        body({"getSchemaResponses": MEMBERS}, indent=1) + b"\n",
        body({"getSchemaResponses": MEMBERS, "more": 1}),
        body({"first": 1, "getSchemaResponses": MEMBERS}),
        body({"getSchemaResponses": MEMBERS, "more": [[]]}),
        body(FILLING * 300),
        b"[" + b" " * LARGE + b"]",
    ],
    ids=["list", "member", "spaced", "more", "not first", "two lists", "a text", "empty"],
)
async def test_whatever_its_shape_a_large_text_is_read_as_json_reads_it(large: bytes) -> None:
    assert len(large) >= LARGE
    assert await large_json.read(large) == json.loads(large)


@pytest.mark.parametrize("end", [b"", b"}", b"]", b"]}x", b",]}", b"]]}", b"] ,}"])
async def test_a_large_text_that_is_broken_at_its_end_is_no_json(end: bytes) -> None:
    whole = body({"getSchemaResponses": MEMBERS})
    with pytest.raises(json.JSONDecodeError):
        await large_json.read(whole[:-2] + end)


@given(st.lists(VALUES, max_size=8), st.integers(0, 200))
def test_any_list_is_read_as_json_reads_it_and_refused_where_it_refuses(members: list[object], cut: int) -> None:
    for text in (json.dumps({"one": members}), json.dumps(members)):
        for asked in (text, text[: len(text) - cut % (len(text) + 1)]):
            assert at_once(large_json._in_pieces(asked)) == json_reads(asked)


async def test_others_go_on_while_a_large_text_is_read() -> None:
    large = body({"getSchemaResponses": MEMBERS})
    async with counted() as turns:
        await large_json.read(large)
    assert turns.count >= len(large) // (4 * large_json._PIECE)
