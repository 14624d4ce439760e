"""Whatever a line is, it gets one answer of the protocol's shape, and the lines around it get theirs."""

import io
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from topicschema.cli.check import batch
from topicschema.core.schemas import SchemaType
from topicschema.core.strategies import Strategy

GOOD = {"id": 1, "type": "AVRO", "strategy": "BACKWARD", "candidate": {"schema": '"long"'}}
MEMBERS = {"id", "compatible", "equalTo", "incompatibilities", "warnings", "error", "pulsarVersion"}

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
texts = (
    st.sampled_from(['"long"', '"int"', '["null", "int"]', "", "{", '{"key": "", "value": ""}', "\ud800"]) | st.text()
)
entries = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(list(SchemaType)) | anything,
        "schema": texts | anything,
        "properties": st.dictionaries(st.sampled_from(["key.schema.type", "value.schema.type"]), st.text()) | anything,
    },
)
requests = st.fixed_dictionaries(
    {"candidate": entries | anything},
    optional={
        "id": anything,
        "type": st.sampled_from(list(SchemaType)) | anything,
        "strategy": st.sampled_from(list(Strategy)) | anything,
        "step": st.sampled_from(["register", "compatibility"]) | anything,
        "pulsarVersion": st.just("4.0") | anything,
        "strictness": st.just("Broker") | anything,
        "history": st.lists(entries, max_size=4) | anything,
    },
)
lines = st.binary().map(lambda noise: noise.replace(b"\n", b" ")) | requests.map(lambda each: json.dumps(each).encode())


def refuse(word: str) -> None:
    raise AssertionError(word)  # NaN and Infinity are no JSON


@given(line=lines)
def test_every_line_has_one_answer_and_none_meets_a_bug(line: bytes) -> None:
    good = json.dumps(GOOD).encode()
    answers, trouble = io.StringIO(), io.StringIO()
    code = batch.answer_all(io.BytesIO(b"\n".join((good, line, good))), answers, trouble)
    found: list[dict[str, Any]] = [json.loads(each, parse_constant=refuse) for each in answers.getvalue().splitlines()]
    assert [each["compatible"] for each in (found[0], found[-1])] == [True, True]
    assert len(found) == 3
    assert set(found[1]) == MEMBERS
    assert (found[1]["compatible"] is None) == (code == 2)
    assert (found[1]["compatible"] is True) <= (not found[1]["incompatibilities"] and found[1]["error"] is None)
    assert (found[1]["compatible"] is False) <= bool(found[1]["incompatibilities"] or found[1]["error"])
    assert trouble.getvalue() == ""
