"""YAML is read by go-yaml's rules.

tests/cluster/test_go_yaml.py compares all scalars, names and random texts with go-yaml itself.
"""

import json

import pytest

from topicschema.cli.inputs import go_yaml
from topicschema.cli.inputs.go_yaml import YamlError


def value(text: str | bytes) -> object:
    content = text.encode() if isinstance(text, str) else text
    [root] = go_yaml.documents(go_yaml.decoded(content))
    return root.value


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("y", True),
        ("", None),
        ("08", 8),
        ("1e3", 1000),
        ("18446744073709551615", 2**64 - 1),
        ("18446744073709551616", 18446744073709552000),
        ("12:30:45", "12:30:45"),
        ("!!float 1", 1),
        ("| # literal\n  y\n", "y\n"),
    ],
)
def test_a_plain_scalar_is_what_go_yaml_makes_of_it(written: str, read: object) -> None:
    assert value(f"a: {written}\n") == {"a": read}
    assert type(value(f"a: {written}\n")["a"]) is type(read)  # type: ignore[index]


@pytest.mark.parametrize(
    ("written", "read"), [("y", "true"), ("1234567.0", "1.234567e+06"), ("1234e56", ".inf"), (".nan", ".nan")]
)
def test_the_name_of_a_member_becomes_a_text(written: str, read: str) -> None:
    assert value(f"{written}: 1\n") == {read: 1}


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, "a stands here again, after line 1"),
        ("1: a\n'1': b\n", 2, "1 stands here again"),
        ("a: 1\n~: 2\n", 2, "null cannot be the name of a member"),
        ("{a: 1}: 2\n", 1, "a mapping cannot be the name of a member"),
        ("a:\n- .inf\n", 2, "NaN and infinity are no numbers of JSON"),
        ("a: 1\nb: !!int x\n", 2, "x is not of the type !!int"),
        ("a: 1\nb: [!!str 1?]\n", 2, "write a text with ? between brackets in quotes"),
        ("a: 1\nb: [!!int, 12]\n", 2, "2002:int has no value after it"),
        ("a: !secret x\n", 1, "the tag !secret is not for Kubernetes"),
        ("a: !!binary aGk=\n", 1, "the tag tag:yaml.org,2002:binary is not for Kubernetes"),
        ("a: [b?c]\n", 1, "between brackets in quotes"),
        ("a: &b [*b]\n", 1, "the anchor 'b' contains itself"),
        ("a: 1\nb: *c\n", 2, "the anchor 'c' is not defined"),
        ("a: 1\n<<: 2\n", 2, "<< needs a mapping"),
        ("a: 1\nb\n", 2, "this is not YAML: could not find expected ':'"),
        ("a: 1\nb: \x07\n", 2, "the character U+0007 is not allowed"),
        ("[" * 1001, 1, "nested too deep"),
    ],
)
def test_what_kubectl_cannot_read_is_an_error_with_its_line(text: str, line: int, words: str) -> None:
    with pytest.raises(YamlError) as raised:
        value(text)
    assert words in raised.value.why
    assert raised.value.line == line


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_the_encoding_is_that_of_the_byte_order_mark(encoding: str) -> None:
    assert value("a: é\n".encode(encoding)) == {"a": "é"}


def test_other_encodings_are_named() -> None:
    with pytest.raises(YamlError, match="byte 0xe9 is not UTF-8") as raised:
        value("a: 1\nb: é\n".encode("latin-1"))
    assert raised.value.line == 2


def test_a_merge_takes_part_in_the_order_of_the_text() -> None:
    assert value("b: &b {x: 1, y: 2}\nc: {x: 0, <<: *b}\nd: {<<: [{x: 5}, *b], x: 3}\n") == {
        "b": {"x": 1, "true": 2},
        "c": {"x": 1, "true": 2},
        "d": {"x": 3, "true": 2},
    }


def test_aliases_cannot_grow_without_end() -> None:
    levels = "".join(f"l{level}: &l{level} [{', '.join([f'*l{level - 1}'] * 10)}]\n" for level in range(1, 9))
    with pytest.raises(YamlError, match="aliases repeat too much"):
        value("l0: &l0 [1]\n" + levels)


def test_all_documents_are_read() -> None:
    roots = go_yaml.documents("a: 1\n---\n---\n- b\n...\n")
    assert json.dumps([each.value for each in roots]) == '[{"a": 1}, null, ["b"]]'
