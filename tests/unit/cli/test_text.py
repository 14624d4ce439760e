"""The result of a check as text. docs/cli.md has whole outputs, which are tested, too."""

import pytest

from topicschema.cli.check import text as check_text
from topicschema.cli.check.engine import CheckRequest, answer
from topicschema.cli.check.text import Files
from topicschema.core.compatibility import Incompatibility
from topicschema.core.policy import Policy, Strictness
from topicschema.core.schemas import SchemaInfo, SchemaType
from topicschema.core.strategies import Direction, Strategy

V1 = '{"type": "record", "name": "Order", "fields": [\n  {"name": "id", "type": "long"}]}'
V2 = V1.replace("}]}", '},\n  {"name": "note", "type": "string"}]}')


def render(
    candidate: str, *history: str, strategy: Strategy = Strategy.BACKWARD, strictness: Strictness = Strictness.BROKER
) -> str:
    infos = [SchemaInfo(SchemaType.AVRO, text.encode()) for text in (*history, candidate)]
    request = CheckRequest(infos[-1], tuple(infos[:-1]), Policy(strategy, strictness))
    files = Files("new.avsc", tuple(f"v{number}.avsc" for number in range(len(history))))
    rest, sentence = check_text.render(request, answer(request), files).rsplit("\n", 1)
    assert sentence == "Judged by the rules of Pulsar 4.0."
    return rest


def test_a_mistake_for_several_versions_is_one() -> None:
    numbered = V1.replace("long", "int")
    history = [numbered.replace("}]}", f'}}, {{"name": "{each}", "type": "int"}}]}}') for each in "abc"]
    lines = render(V2.replace("long", "string"), *history, strategy=Strategy.BACKWARD_TRANSITIVE).splitlines()
    assert lines[0] == "new.avsc is incompatible under BACKWARD_TRANSITIVE: 2 reasons"
    assert [line for line in lines if " at $" in line] == [
        "TYPE_MISMATCH at $.fields[0].type",
        "FIELD_WITHOUT_DEFAULT at $.fields[1]",
    ]
    assert lines.count("  BACKWARD: consumers with the candidate must read messages of versions 0 to 2.") == 2
    assert lines[-2:] == [
        "What the rules mean and what to do:",
        "  topicschema explain TYPE_MISMATCH FIELD_WITHOUT_DEFAULT",
    ]


def test_one_place_has_one_heading() -> None:
    lines = render(V1.replace("long", "string"), V1, strategy=Strategy.FULL).splitlines()
    assert lines[0] == "new.avsc is incompatible under FULL: 2 reasons"
    for each in ("TYPE_MISMATCH at", "    |", "  BACKWARD: ", "  FORWARD: ", "  To do: "):
        assert sum(line.startswith(each) for line in lines) == 1, each


def test_a_changed_type_has_an_excerpt_and_a_remedy() -> None:
    before, after = (SchemaInfo(each, V1.encode()) for each in (SchemaType.JSON, SchemaType.AVRO))
    request = CheckRequest(after, (before,), Policy(Strategy.FULL))
    assert check_text.render(request, answer(request), Files("new.avsc", ("v0.avsc",))).splitlines()[2:8] == [
        "TYPE_CHANGED at $",
        "  version 0 has type JSON, the candidate AVRO",
        '  1 | {"type": "record", "name": "Order", "fields": [',
        "    | ^",
        "  Compared with version 0 (v0.avsc).",
        "  To do: keep the type, or use another topic.",
    ]


def test_a_text_that_is_no_schema_has_an_excerpt_at_its_place() -> None:
    assert render('{"type": "fixed",}').splitlines() == [
        "new.avsc is not a schema that a broker of Pulsar 4.0 accepts",
        "",
        "SYNTAX at line 1, column 18",
        "  a member name in double quotes is expected, found '}'",
        '  1 | {"type": "fixed",}',
        "    |                  ^",
        "",
        "What a rule means and what to do: topicschema explain SYNTAX",
    ]


def test_a_version_that_cannot_be_read_is_named_by_its_file() -> None:
    lines = render(V1, "{").splitlines()
    assert lines[0] == "new.avsc cannot be compared: the broker would answer with an error"
    assert lines[2] == "INVALID_HISTORY at v0.avsc"


COMPATIBLE, CONSUMERS = "new.avsc is compatible: ", "Upgrade the consumers first."
NOTHING = "Nothing was compared: that strategy accepts every schema."
EQUAL = "new.avsc equals version 0 (v0.avsc): nothing would be registered"


@pytest.mark.parametrize(
    ("history", "strategy", "text"),
    [
        ((), Strategy.FULL, f"{COMPATIBLE}it would be version 0, the first"),
        ((V2,), Strategy.BACKWARD, f"{COMPATIBLE}it may follow version 0 (v0.avsc) under BACKWARD\n{CONSUMERS}"),
        (
            (V2, V2.replace("note", "hint")),
            Strategy.BACKWARD_TRANSITIVE,
            f"{COMPATIBLE}it may follow versions 0 to 1 under BACKWARD_TRANSITIVE\n{CONSUMERS}",
        ),
        (
            (V2,),
            Strategy.ALWAYS_COMPATIBLE,
            f"{COMPATIBLE}it may follow version 0 (v0.avsc) under\nALWAYS_COMPATIBLE\n{NOTHING}",
        ),
        ((V1,), Strategy.FULL, EQUAL),
        ((V1, V2), Strategy.FULL, f"{EQUAL}\nVersion 1 stays the latest."),
    ],
)
def test_a_compatible_candidate_is_named_with_what_it_may_follow(
    history: tuple[str, ...], strategy: Strategy, text: str
) -> None:
    assert render(V1, *history, strategy=strategy) == text


def test_a_note_is_a_warning() -> None:
    assert "warning: STORED_SCHEMA_UNCHANGED: the schema equals version 0" in render(V1 + "\n", V1)


ENUM = """{"type": "record", "name": "R", "fields": [
  {"name": "of", "type": {"type": "enum", "name": "E",
   "symbols": ["A", "B"]}}]}"""


def test_a_risk_has_its_severity_place_and_excerpt() -> None:
    assert render(ENUM.replace(', "B"', ""), ENUM).splitlines() == [
        "new.avsc is compatible: it may follow version 0 (v0.avsc) under BACKWARD",
        "Upgrade the consumers first.",
        "",
        "warning: ENUM_SYMBOL_UNKNOWN at $.fields[0].type (WIRE: messages are lost or",
        "misread)",
        "  field 'of': enum 'E' of the candidate lacks 'B' of version 0, and fails on",
        "  each message with one; keep them, or give it a default",
        '  1 | {"type": "record", "name": "R", "fields": [',
        '  2 |   {"name": "of", "type": {"type": "enum", "name": "E",',
        "    |                          ^",
        "  BACKWARD: consumers with the candidate must read messages of version 0",
        "  (v0.avsc).",
        "",
        "The broker accepts what is only warned of, although consumers with the new",
        "schema may fail on, lose or misread retained messages. To refuse such changes,",
        "use --strictness Strict.",
        "",
        "What a rule means and what to do: topicschema explain ENUM_SYMBOL_UNKNOWN",
    ]


@pytest.mark.parametrize(
    ("warning", "effect"),
    [
        (("ENUM_SYMBOL_UNKNOWN", Direction.FORWARD), "consumers with earlier schemas may fail on, lose or misread new"),
        (("CHARSET_CHANGED", None), "although consumers may fail on, lose or misread messages."),
        (("ALIAS_IN_JSON", Direction.BACKWARD), "although the JSON form of messages changes."),
        (("STORED_SCHEMA_UNCHANGED", None), ""),
    ],
)
def test_the_harm_of_warnings_depends_on_the_risk(warning: tuple[str, Direction | None], effect: str) -> None:
    rule, direction = warning
    words = check_text.accepted_harm([Incompatibility(rule, "$", "m", direction, 0)], "refuse")
    assert effect in words
    assert bool(words) == bool(effect)


def test_under_strict_a_risk_is_a_reason_to_refuse() -> None:
    text = render(ENUM.replace(', "B"', ""), ENUM, strictness=Strictness.STRICT)
    assert text.startswith("new.avsc is incompatible under BACKWARD, Strict: 1 reason\n\nENUM_SYMBOL_UNKNOWN at")
    assert "warning" not in text


def test_of_very_many_warnings_and_findings_the_first_are_printed() -> None:
    kinds = [f'{{"name": "f{n}", "type": "{{}}"}}' for n in range(50)]
    before, after = (V1.replace("}]}", f"}}, {', '.join(kinds).replace('{}', kind)}]}}") for kind in ("long", "double"))
    text = render(after, before)
    assert text.count("warning: NUMBER_ROUNDED at") == 20
    assert "and 30 more warnings; -o json lists them" in text
    text = render(before, V1)
    assert text.count("FIELD_WITHOUT_DEFAULT at") == 20
    assert "and 30 more; -o json lists them" in text
    assert max(map(len, text.splitlines())) <= 80


def test_control_characters_of_a_schema_are_not_printed() -> None:
    text = render('{"type": "record", "name": "A", "fields": [{"name": "\\u001b[2J", "type": "int"}]}')
    assert "\x1b" not in text
