"""The place in the text: line numbers, carets, long lines, wide and control characters."""

import pytest

from topicschema.cli.check.excerpt import Excerpts, printable
from topicschema.core.errors import Place

TEXT = """{
  "type": "record",
  "fields": [{"name": "x"}]
}"""


def shown(text: str, place: Place) -> list[str]:
    return list(Excerpts(text, [place]).at(place))


@pytest.mark.parametrize(
    ("text", "place", "lines"),
    [
        (
            TEXT,
            Place("$.fields[0].name"),
            ['  2 |   "type": "record",', '  3 |   "fields": [{"name": "x"}]', "    |" + " " * 23 + "^"],
        ),
        ("{\n  17}", Place("$", 2, 3), ["  1 | {", "  2 |   17}", "    |   ^"]),
        ('"int"', Place("$"), ['  1 | "int"', "    | ^"]),
        ("", Place("$"), []),
        (" \n ", Place("$", 1, 1), []),
        ('{"fields": [1,,', Place("$.fields[1]"), []),
        ("{", Place("$", 1, 2), ["  1 | {", "    |  ^"]),
        ('{"日本": X}', Place("$", 1, 8), ['  1 | {"日本": X}', "    |" + " " * 10 + "^"]),  # two columns each
        ("\n" * 8 + '"a"\n"b"', Place("$", 10, 1), ['   9 | "a"', '  10 | "b"', "     | ^"]),
        ('{"x": {"b": 1}, "x": 2}', Place("$.x.b"), ['  1 | {"x": {"b": 1}, "x": 2}', "    |" + " " * 22 + "^"]),
    ],
)
def test_a_place_is_shown_with_the_line_before_it_and_a_caret(text: str, place: Place, lines: list[str]) -> None:
    assert shown(text, place) == lines


@pytest.mark.parametrize("column", [1, 30, 60, 77, 500, 999, 1000, 1001])
def test_a_long_line_is_cut_to_the_columns_near_the_place(column: int) -> None:
    line = "".join(chr(ord("a") + number % 26) for number in range(1000))
    text, caret = shown(line, Place("$", 1, column))
    assert max(len(text), len(caret)) <= 80
    assert text[caret.index("^") : caret.index("^") + 1] == line[column - 1 : column]


def test_control_characters_never_reach_the_terminal() -> None:
    assert printable("a\x1b[31m\tb\u202e") == "a\ufffd[31m b\ufffd"
    assert all("\x1b" not in line for line in shown('"\x1b[31m"', Place("$", 1, 1)))


def test_one_text_has_excerpts_of_many_places() -> None:
    places = [Place("$.fields[0].name"), Place("$.type"), Place("$.nowhere")]
    excerpts = Excerpts(TEXT, places)
    assert [list(excerpts.at(each))[-2].split(" | ")[0].strip() for each in places] == ["3", "2", "1"]


def test_marks_without_a_width_of_their_own_do_not_make_a_line_endless() -> None:
    assert max(map(len, shown('"' + "\u0300" * 5_000 + '"', Place("$", 1, 2_000)))) <= 100
