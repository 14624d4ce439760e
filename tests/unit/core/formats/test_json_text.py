import json
from collections.abc import Callable
from typing import Any

import pytest

from support.schemas import avro_schemas
from support.work import steps
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats import json_text
from topicschema.core.formats.json_text.jackson_syntax import without_comments
from topicschema.core.formats.json_text.reader import TextReader

REFUSED = {
    "": ("SYNTAX", 1, 1, "$", "ends"),
    "string": ("SYNTAX", 1, 1, "$", "double quotes"),
    "'a'": ("SYNTAX", 1, 1, "$", "double quotes"),
    "\ufeff{}": ("SYNTAX", 1, 1, "$", "byte order mark"),
    "\x00": ("SYNTAX", 1, 1, "$", "U+0000"),
    "{": ("SYNTAX", 1, 2, "$", "member name"),
    '{"a"': ("SYNTAX", 1, 5, "$.a", "':'"),
    '{"a":1,}': ("SYNTAX", 1, 8, "$", "member name"),
    "[1,]": ("SYNTAX", 1, 4, "$[1]", "JSON value"),
    "[1 2]": ("SYNTAX", 1, 4, "$[0]", "','"),
    '{"a":1 "b":2}': ("SYNTAX", 1, 8, "$.a", "','"),
    '{"a":[1,\n  {"b c": nul}]}': ("SYNTAX", 2, 11, '$.a[1]["b c"]', "found 'n'"),
    '[\r\n"a\tb"]': ("SYNTAX", 2, 3, "$[0]", "U+0009"),
    '["a\\x"]': ("SYNTAX", 1, 4, "$[0]", "backslash"),
    '["a\\u12g4"]': ("SYNTAX", 1, 4, "$[0]", "backslash"),
    '["a': ("SYNTAX", 1, 4, "$[0]", "inside a string"),
    "[01]": ("SYNTAX", 1, 3, "$[0]", "','"),
    "[1.]": ("SYNTAX", 1, 3, "$[0]", "','"),
    "[.5]": ("SYNTAX", 1, 2, "$[0]", "JSON value"),
    "[+1]": ("SYNTAX", 1, 2, "$[0]", "JSON value"),
    "[-]": ("SYNTAX", 1, 2, "$[0]", "JSON value"),
    "[NaN]": ("SYNTAX", 1, 2, "$[0]", "JSON value"),
    "[-Infinity]": ("SYNTAX", 1, 2, "$[0]", "JSON value"),
    "[True]": ("SYNTAX", 1, 2, "$[0]", "JSON value"),
    "[trues]": ("SYNTAX", 1, 2, "$[0]", "JSON value"),
    "[1 /* never closed ]": ("SYNTAX", 1, 4, "$[0]", "','"),
    "[1 /* \x01 */]": ("SYNTAX", 1, 4, "$[0]", "','"),
    "[\u00a01]": ("SYNTAX", 1, 2, "$[0]", "U+00A0"),
    "[" + "1" * 1001 + "]": ("SYNTAX", 1, 2, "$[0]", "1,000 digits"),
    "[0." + "1" * 1000 + "]": ("SYNTAX", 1, 2, "$[0]", "1,000 digits"),
    "{}\n  {}": ("TRAILING_TEXT", 2, 3, "$", "remove"),
    '"int" // done': ("TRAILING_TEXT", 1, 7, "$", "remove"),
    "[]\n\x00\n]": ("TRAILING_TEXT", 3, 1, "$", "remove"),
    "[" * 1001: ("TOO_DEEP", 1, 1001, "$", "1,000 levels"),
    '{"a":\n' * 1001: ("TOO_DEEP", 1001, 1, "$", "1,000 levels"),
}


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: repr(text[:30]).replace("\\", "/"))
def test_a_text_that_is_no_json_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(InvalidSchemaError) as refusal:
        json_text.read(text)
    error = refusal.value
    *expected, word = REFUSED[text]
    assert [error.rule, error.place.line, error.place.column, error.place.path] == expected
    assert word in error.message
    assert len(error.message) < 200


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('// c\n{"a" /* b */ : /**/ [1, // d\r 2]}', {"a": [1, 2]}),
        ('{"a":1,"a":2}', {"a": 2}),
        ('/**/{"a":1,"a":2}', {"a": 2}),
        ("[-0, 1e2, 1E+2, -1.5e-3]", [0, 100.0, 100.0, -0.0015]),
        ("/**/[-0, 1e2, 1E+2, -1.5e-3, true, false, null]", [0, 100.0, 100.0, -0.0015, True, False, None]),
        ('"\\ud83d\\ude00 \\ud800 \x7f\u2028"', "\U0001f600 \ud800 \x7f\u2028"),
        ('/**/"\\ud83d\\ude00 \\ud800 \x7f\u2028"', "\U0001f600 \ud800 \x7f\u2028"),
        ("[] \x00\x01\x1f\n", []),
        ("/**/{}", {}),
        ('/**/[[],{},{"a":{}}]', [[], {}, {"a": {}}]),
    ],
)
def test_the_brokers_dialect_is_read(text: str, value: object) -> None:
    assert json_text.read(text) == value


@pytest.mark.parametrize("levels", [10_000, 100_000, 1_000_000])
def test_no_depth_exhausts_the_stack(levels: int) -> None:
    with pytest.raises(InvalidSchemaError) as refusal:
        json_text.read('{"a":[' * levels)
    assert refusal.value.rule == "TOO_DEEP"


def test_the_slow_reader_reads_what_the_fast_one_reads() -> None:
    for seed in range(300):
        text = json.dumps(avro_schemas.schema(avro_schemas.seeded(seed)))
        assert repr(json_text.read(f"/* the fast one knows no comments */{text}")) == repr(json_text.read(text))


def test_the_place_of_an_error_is_the_same_by_counting_and_by_reading() -> None:
    texts = [avro_schemas.spoilt(avro_schemas.seeded(seed)) for seed in range(2000)]
    expected = {text: refusal(json_text.read, text) for text in texts}
    assert {text: refusal(lambda it: TextReader(it, without_comments(it)).read(), text) for text in texts} == expected
    assert sum(sentence is not None for sentence in expected.values()) > 200


def refusal(read: Callable[[str], object], text: str) -> str | None:
    try:
        read(text)
    except InvalidSchemaError as error:
        return f"{error.sentence}, {error.place!r}"
    return None


def test_a_large_text_is_read_up_to_what_is_wrong_in_it() -> None:
    with pytest.raises(InvalidSchemaError) as refusal:
        json_text.read('{"a": [' + '"x,y", [], 1, /* b */ {"c": 2}, ' * 10_000 + "nul]}")
    assert (refusal.value.place.path, refusal.value.place.column) == ("$.a[40000]", 320_008)


SCHEMA = """{
  "type": "record", // of orders
  "fields": [
    {"name": "a", "type": ["null",
      {"a b": [1, 2], "type": "int", "type": "long"}]}
  ]
}"""


@pytest.mark.parametrize(
    ("path", "line", "column"),
    [
        ("$", 1, 1),
        ("$.type", 2, 11),
        ("$.fields[0]", 4, 5),
        ("$.fields[0].type[1]", 5, 7),
        ("$.fields[0].type[1].type", 5, 46),
        ('$.fields[0].type[1]["a b"][1]', 5, 19),
        ("$.fields[0].type[1].items", 5, 7),
        ("$.fields[7].name", 3, 13),
    ],
)
def test_a_path_is_located_or_else_what_holds_it(path: str, line: int, column: int) -> None:
    assert json_text.locate(SCHEMA, path) == (line, column)


def test_a_member_name_that_is_no_word_is_quoted_in_a_path() -> None:
    assert json_text.member("$", "a_1") == "$.a_1"
    assert json_text.member("$", 'a"]. b') == '$["a\\"]. b"]'
    assert json_text.locate('{"x": 1,\n"a\\"]. b": 2}', json_text.member("$", 'a"]. b')) == (2, 12)


@pytest.mark.parametrize("seed", range(40))
def test_every_value_is_located_among_all_others(seed: int) -> None:
    rng = avro_schemas.seeded(str(seed))
    marks: list[tuple[str, str]] = []

    def made(path: str, levels: int) -> Any:
        kind = rng.choice(("mark", "mark", "scalar", "scalar", "object", "array") if levels else ("mark", "scalar"))
        if kind == "mark":
            marks.append((path, f"mark {len(marks)}"))
            return marks[-1][1]
        if kind == "scalar":
            return rng.choice((0, -1.5e3, True, None, "", "a,b", '"]', {}, []))
        if kind == "array":
            return [made(f"{path}[{index}]", levels - 1) for index in range(rng.randint(0, 6))]
        names = rng.sample(("a", "b", 'c"', "d]", "\u00e9", "f\\", "\n"), rng.randint(0, 6))
        return {name: made(json_text.member(path, name), levels - 1) for name in names}

    text = json.dumps([made("$[0]", 4), made("$[1]", 4)], ensure_ascii=rng.random() < 0.5, indent=rng.choice((None, 1)))
    places = json_text.locate_all(text, [path for path, _ in marks])
    lines = text.split("\n")
    for path, mark in marks:
        line, column = places[path]
        assert lines[line - 1][column - 1 :].startswith(json.dumps(mark))


@pytest.mark.parametrize("text", ['{"b": 0, "a": 1, %s"a": 2, "c": 3}', '{"a": [%s2, 3]}'], ids=["members", "elements"])
def test_unrequested_members_are_skipped_at_little_cost(text: str) -> None:
    long = text % (('"n": "x", ' if "b" in text else '"x", ') * 1_000)
    path = "$.a" if "b" in text else "$.a[1000]"
    assert long[json_text.locate(long, path)[1] - 1] == "2"
    assert steps(lambda: json_text.locate(long, path)) < 60 * 1_000


def test_a_place_far_inside_needs_no_comparison_with_all_above_it() -> None:
    text, path = '{"a":' * 400 + "1" + "}" * 400, "$" + ".a" * 400
    assert json_text.locate(text, path) == (1, 2_001)
    assert steps(lambda: json_text.locate(text, path)) < 12 * 400 * 400


def test_comments_behind_a_long_text_are_each_searched_from_the_end_of_the_last_one() -> None:
    front, comments = "[" + " " * 4_000_000, 100_000  # from the front each time that would be minutes
    assert without_comments(f"{front}{'1,/**/' * comments}1]") == f"{front}{'1,    ' * comments}1]"


SLOWLY = "/* the fast reader knows no comments */"
BOTH = pytest.mark.parametrize("before", ["", SLOWLY], ids=["fast", "slow"])


def refused_at(text: str) -> tuple[str, str, int | None]:
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
    assert refused_at(before + text % more)[0] == "SYNTAX"


@BOTH
def test_the_first_number_that_is_too_long_is_the_one_reported(before: str) -> None:
    good, bad = "1" * 1000, "1" * 1001
    start = f'{before}{{"a": "{bad}", "b": [{good}, '
    assert refused_at(f"{start}{bad}, {bad}]}}") == ("SYNTAX", "$.b[1]", len(start) + 1)
    assert refused_at(f"{before}[{bad}, nul]")[1] == "$[0]"
    assert refused_at(f"{before}[nul, {bad}]")[1] == "$[0]"
    assert refused_at(f"{before}[NaN, {bad}]")[1] == "$[0]"
    assert refused_at(f'{before}["NaN", -Infinity]')[1] == "$[1]"


@BOTH
@pytest.mark.parametrize("name", ["n" * 50_000, '\\"' * 50_000, "\\u00e9" * 50_000], ids=["plain", "escaped", "coded"])
def test_a_name_may_have_fifty_thousand_characters_as_they_are_read(before: str, name: str) -> None:
    (read,) = json_text.read(f'{before}{{"{name}": 1}}')
    assert len(read) == 50_000
    assert refused_at(f'{before}{{"{name}n": 1}}')[0] == "SYNTAX"
    assert refused_at(f'{before}[{{"a": {{"b": 1, "{name}n" : [1]}}}}]')[0] == "SYNTAX"


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
    assert refused_at(f"{before}[{full}]")[0] == "TOO_DEEP"
    for inner in ("[]", '{"a":1}', "[1, 2], 3", "[], 3", "{}, 3, 4"):
        assert refused_at(f'{before}{{"a": {opens * levels}{inner}{closes * levels}}}')[0] == "TOO_DEEP"


@BOTH
def test_what_a_later_member_of_the_name_takes_away_counts_as_well(before: str) -> None:
    deep = "[" * 1000 + "]" * 1000
    assert refused_at(f'{before}{{"a": {deep}, "a": 1}}')[0] == "TOO_DEEP"
    assert refused_at(f'{before}{{"a": {{"{"n" * 50_001}": 1}}, "a": 1}}')[0] == "SYNTAX"
    shallow = "[" * 999 + "]" * 999
    assert json_text.read(f'{before}{{"a": {shallow}, "a": 1}}') == {"a": 1}
