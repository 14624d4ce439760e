"""KEY_VALUE as it is written: the stored bytes, the REST form, the properties."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats import key_value
from topicschema.core.formats.key_value import Encoding, KeyValue, Part, payload
from topicschema.core.schemas import SchemaInfo, SchemaType

PART_TYPES = sorted(set(SchemaType) - {SchemaType.KEY_VALUE})
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
INFOS = st.builds(
    SchemaInfo,
    st.sampled_from(PART_TYPES),
    st.binary(max_size=40),
    st.dictionaries(st.text(), st.text(), max_size=4),
)
PAIRS = st.builds(
    KeyValue, st.builds(Part, INFOS, st.text()), st.builds(Part, INFOS, st.text()), st.sampled_from(Encoding)
)


def stored(form: str) -> bytes:
    return key_value.payload_of(form)


def refused(form: str) -> InvalidSchemaError:
    with pytest.raises(InvalidSchemaError) as error:
        key_value.payload_of(form)
    return error.value


def decoded(properties: dict[str, str], content: bytes = bytes(8)) -> KeyValue:
    return key_value.decode(SchemaInfo(SchemaType.KEY_VALUE, content, properties))


@given(st.binary(), st.binary(), st.binary())
def test_what_is_joined_is_split_again_and_what_follows_is_ignored(key: bytes, value: bytes, rest: bytes) -> None:
    assert payload.split(payload.join(key, value) + rest) == (key, value)


def test_a_length_of_minus_one_is_null() -> None:
    assert payload.split(b"\xff\xff\xff\xff" * 2) == (b"", b"")
    assert payload.split(b"\xff\xff\xff\xff\0\0\0\x01x") == (b"", b"x")


@pytest.mark.parametrize(
    ("content", "path", "words"),
    [
        (b"", "$.key", "byte 0: the length of the key takes 4 bytes, 0 left"),
        (b"\0\0\0", "$.key", "3 left"),
        (b"\0\0\0\x02a", "$.key", "byte 0: the key has a length of 2, 1 left"),
        (b"\0\0\0\x01a\0\0", "$.value", "byte 5: the length of the value takes 4 bytes, 2 left"),
        (b"\0\0\0\x01a\0\0\0\x01", "$.value", "byte 5: the value has a length of 1, 0 left"),
        (b"\xff\xff\xff\xfe\0\0\0\0", "$.key", "the key has the length -2"),
        (b'{"key":"","value":""}', "$.key", f"the key has a length of {0x7B226B65}"),
    ],
)
def test_a_payload_that_no_broker_can_read_is_refused_with_its_place(content: bytes, path: str, words: str) -> None:
    with pytest.raises(InvalidSchemaError) as error:
        payload.split(content)
    assert (error.value.rule, str(error.value.place)) == ("KEY_VALUE_PAYLOAD", path)
    assert words in error.value.message


@given(st.binary(max_size=30))
def test_no_bytes_raise_anything_else(content: bytes) -> None:
    try:
        key, value = payload.split(content)
    except InvalidSchemaError:
        return
    assert len(key) + len(value) + 8 <= len(content)


def test_the_rest_form_is_stored_without_space_and_otherwise_as_it_is() -> None:
    form = '{ "value" : {"z": 1.00, "a" :-0,\n"b": 1E+5, "c": [ true, null ]}, "other": 7, "key": "" }'
    assert stored(form) == payload.join(b"", b'{"z":1.00,"a":-0,"b":1E+5,"c":[true,null]}')


def test_strings_are_escaped_as_gson_does() -> None:
    form = r'{"key": "\u0041\/<>&=\u0027\u2028\u0007\u007f\ud83d\ude00\ud800é", "value": "\b\f\n\r\t\"\\"}'
    key = '"A/<>&=\'\\u2028\\u0007\x7f\U0001f600?é"'.encode()
    assert stored(form) == payload.join(key, rb'"\b\f\n\r\t\"\\"')


@pytest.mark.parametrize(
    ("form", "key", "value"),
    [
        ('{"key": null, "value": ""}', b"null", b""),
        ('{"key": {"a": 1, "b": 2, "a": 3}, "value": "", "key": 1}', b"1", b""),
        ('{"key": {"a": 1, "b": 2, "a": 3}, "value": ""}', b'{"a":3,"b":2}', b""),
        ('/* a pair */ {"key": "", // nothing\n "value": "// text"}', b"", b'"// text"'),
        ('{"key": "int", "value": [[], {}]}', b'"int"', b"[[],{}]"),
    ],
)
def test_what_else_the_broker_takes(form: str, key: bytes, value: bytes) -> None:
    assert stored(form) == payload.join(key, value)


@pytest.mark.parametrize(
    ("form", "rule"),
    [
        ('{"key": ""}', "KEY_VALUE_FORM"),
        ('{"value": ""}', "KEY_VALUE_FORM"),
        ('["", ""]', "KEY_VALUE_FORM"),
        ('"text"', "KEY_VALUE_FORM"),
        ("", "SYNTAX"),
        ('{"key": "", "value": "",}', "SYNTAX"),
        ('{"key": "", "value": NaN}', "SYNTAX"),
        ('{"key": "", "value": 01}', "SYNTAX"),
        ("{key: '', value: ''}", "SYNTAX"),
        ('{"key": "", "value": ""} x', "TRAILING_TEXT"),
        ('{"key": "", "value": ""} // no\n', "TRAILING_TEXT"),
        ('{"key": /* yes */ "", "value": ""} /* no */', "TRAILING_TEXT"),
        ('{"key": "", "value": ""}\x00', "TRAILING_TEXT"),
        ('{"key": "", "value": ' + "[" * 5000 + "]" * 5000 + "}", "TOO_DEEP"),
    ],
)
def test_a_rest_form_that_cannot_be_stored_is_refused(form: str, rule: str) -> None:
    assert refused(form).rule == rule


def test_a_mistake_in_the_rest_form_has_line_and_column() -> None:
    assert str(refused('{"key": "",\n "value": {"a" 1}}').place) == "line 2, column 16"


@given(JSON_VALUES, JSON_VALUES)
def test_stored_parts_say_the_same_and_storing_them_again_changes_nothing(key: Any, value: Any) -> None:
    content = stored(json.dumps({"key": key, "value": value}, indent=1))
    parts = payload.split(content)
    assert [json.loads(part) if part else "" for part in parts] == [key, value]
    assert stored(key_value.text_of(content)) == content


@pytest.mark.parametrize("part", [b"{ }", b"text", b"\xff", b'""', b'"\\/"', b"1 ", b"{,}"])
def test_bytes_that_no_upload_over_rest_stores_have_no_rest_form(part: bytes) -> None:
    with pytest.raises(InvalidSchemaError) as error:
        key_value.text_of(payload.join(b"", part))
    assert error.value.rule == "KEY_VALUE_FORM"
    assert "the value's schema" in error.value.message


def test_a_part_alone_is_stored_as_inside_the_rest_form() -> None:
    text = '{"type": "record", "name": "R", "fields": []} '
    assert stored(f'{{"key": "", "value": {text}}}') == payload.join(b"", key_value.compacted(text))
    assert key_value.compacted("") == b""


@given(PAIRS, st.dictionaries(st.sampled_from(["owner", "kv", "key"]), st.text()))
def test_a_pair_is_read_as_it_was_written(pair: KeyValue, own: dict[str, str]) -> None:
    info = key_value.encode(pair, own)
    assert key_value.decode(info) == pair
    assert own.items() <= info.properties.items()
    assert len(info.properties) == len(own) + 7


def test_the_properties_are_those_of_the_java_client() -> None:
    key = Part(SchemaInfo(SchemaType.STRING), "String")
    value = Part(SchemaInfo(SchemaType.AVRO, b"{}", {"b": "it's <1>", "a": "2"}), "Order")
    assert dict(key_value.encode(KeyValue(key, value, Encoding.SEPARATED)).properties) == {
        "key.schema.name": "String",
        "key.schema.type": "STRING",
        "key.schema.properties": "{}",
        "value.schema.name": "Order",
        "value.schema.type": "AVRO",
        "value.schema.properties": r'{"a":"2","b":"it\u0027s \u003c1\u003e"}',
        "kv.encoding.type": "SEPARATED",
    }


def test_what_the_properties_do_not_say_has_pulsars_defaults() -> None:
    pair = decoded({"key.schema.properties": "", "kv.encoding.type": ""})
    nothing = Part(SchemaInfo(SchemaType.BYTES))
    assert pair == KeyValue(nothing, nothing, Encoding.INLINE)


def test_an_encoding_that_no_client_knows_is_taken_as_the_broker_takes_it() -> None:
    pair = decoded({"kv.encoding.type": "inline"})
    assert pair.encoding is None
    assert "kv.encoding.type" not in key_value.encode(pair).properties


def test_a_parts_own_properties_are_texts() -> None:
    pair = decoded({"value.schema.properties": '{"a": 1.50, "b": true, "c": ["x"], "d": "y"}'})
    assert dict(pair.value.info.properties) == {"a": "1.50", "b": "true", "c": "x", "d": "y"}


@pytest.mark.parametrize("text", ["[]", "null", "{", '{"a": null}', '{"a": {}}', '{"a": []}', '{"a": ["x", "y"]}'])
def test_properties_of_a_part_that_are_no_texts_are_refused(text: str) -> None:
    with pytest.raises(InvalidSchemaError) as error:
        decoded({"key.schema.properties": text})
    assert (error.value.rule, str(error.value.place)) == ("PART_PROPERTIES", "$.key")
    assert "key.schema.properties" in error.value.message
