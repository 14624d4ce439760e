"""The limits of the broker's JSON reader, to the digit, level and character, whichever of our readers meets them."""

import json

import pytest

from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats import json_text

SLOWLY = "/* the fast reader knows no comments */"
BOTH = pytest.mark.parametrize("before", ["", SLOWLY], ids=["fast", "slow"])


def refused(text: str) -> tuple[str, str, int | None]:
    with pytest.raises(InvalidSchemaError) as caught:
        json_text.read(text)
    return caught.value.rule, caught.value.place.path, caught.value.place.column


@BOTH
@pytest.mark.parametrize(
    "number", ["1" * 1000, f"-{'1' * 1000}", f"0.{'1' * 999}", f"{'1' * 999}e-9", f"1E+{'0' * 999}"]
)
@pytest.mark.parametrize("text", ["%s", "[%s]", "[0, %s, 1]", '{"a": %s}', '{"a": 1, "b": [%s, {}]}'])
def test_a_number_may_have_a_thousand_digits(before: str, text: str, number: str) -> None:
    read = json_text.read(before + text % number)
    assert repr(read) == repr(json.loads(text % number))
    more = number.replace("1", "11", 1) if "E" not in number else f"{number}0"
    assert refused(before + text % more)[0] == "SYNTAX"


@BOTH
def test_the_first_number_that_is_too_long_is_the_one_told_of(before: str) -> None:
    good, bad = "1" * 1000, "1" * 1001
    assert refused(f'{before}{{"a": "{bad}", "b": [{good}, {bad}, {bad}]}}') == (
        "SYNTAX",
        "$.b[1]",
        len(f'{before}{{"a": "{bad}", "b": [{good}, ') + 1,
    )
    assert refused(f"{before}[{bad}, nul]")[1] == "$[0]"
    assert refused(f"{before}[nul, {bad}]")[1] == "$[0]"
    assert refused(f"{before}[NaN, {bad}]")[1] == "$[0]"
    assert refused(f'{before}["NaN", -Infinity]')[1] == "$[1]"


@BOTH
@pytest.mark.parametrize("name", ["n" * 50_000, '\\"' * 50_000, "\\u00e9" * 50_000], ids=["plain", "escaped", "coded"])
def test_a_name_may_have_fifty_thousand_characters_as_they_are_read(before: str, name: str) -> None:
    (read,) = json_text.read(f'{before}{{"{name}": 1}}')
    assert len(read) == 50_000
    assert refused(f'{before}{{"{name}n": 1}}')[0] == "SYNTAX"
    assert refused(f'{before}[{{"a": {{"b": 1, "{name}n" : [1]}}}}]')[0] == "SYNTAX"


@BOTH
def test_a_text_that_is_no_name_may_be_longer(before: str) -> None:
    long = "n" * 50_001
    for value in (long, [long], {"a": long, "b": [long, {}]}, {"a": f"{long}:"}):
        assert json_text.read(before + json.dumps(value)) == value


@BOTH
@pytest.mark.parametrize(("opens", "closes"), [("[", "]"), ('{"a":', "}"), ('[{"a":', "}]"), ('{"a":[', "]}")])
def test_a_thousand_levels_and_no_more(before: str, opens: str, closes: str) -> None:
    levels = 1000 // (opens.count("[") + opens.count("{"))
    full = opens * levels + "1" + closes * levels
    json_text.read(before + full)
    assert refused(f"{before}[{full}]")[0] == "TOO_DEEP"
    for inner in ("[]", '{"a":1}', "[1, 2], 3", "[], 3", "{}, 3, 4"):
        assert refused(f'{before}{{"a": {opens * levels}{inner}{closes * levels}}}')[0] == "TOO_DEEP"


@BOTH
def test_what_a_later_member_of_the_name_takes_away_counts_as_well(before: str) -> None:
    deep = "[" * 1000 + "]" * 1000
    assert refused(f'{before}{{"a": {deep}, "a": 1}}')[0] == "TOO_DEEP"
    assert refused(f'{before}{{"a": {{"{"n" * 50_001}": 1}}, "a": 1}}')[0] == "SYNTAX"
    shallow = "[" * 999 + "]" * 999
    assert json_text.read(f'{before}{{"a": {shallow}, "a": 1}}') == {"a": 1}
