"""JSON messages as Pulsar's Java client writes and reads them with a class, beside the validator's findings."""

import base64

import pytest

from differential import oracle
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType
from topicschema.payload.columnar import validator_for
from topicschema.payload.columnar.column import Column
from topicschema.payload.columnar.reasons import REASONS

pytestmark = pytest.mark.differential

ORACLE = oracle.CLIENT.with_name("JsonOracle.java")
READ_BY_BOTH = (
    *('{"date":[2024,1,2]}', '{"date":19724}', '{"date":"2024-02-29"}', '{"date":"2024-01-02T00:00:00Z"}'),
    *('{"time":[1,2]}', '{"time":[1,2,3,4]}', '{"time":"01:02:03.5"}', '{"local":[2024,1,2,3,4]}'),
    *('{"local":"2024-01-02T03:04:05"}', '{"instant":1700000000}', '{"instant":-5.000000000}', '{"instant":"17.5"}'),
    *('{"instant":"2024-01-01T00:00:00Z"}', '{"instant":"2024-01-01T00:00:00+01:00"}', '{"decimal":1.50}'),
    *('{"decimal":"1.50"}', '{"huge":1208925819614629174706176}', '{"old":5}', '{"old":"2024-01-01T00:00:00Z"}'),
    *('{"real":"INF"}', '{"real":1}', '{"small":0.1}', '{"bytes":"YQ=="}', '{"list":[],"map":{}}', '{"text":null}'),
)
READ_BY_NONE = (
    *('{"date":[2023,2,29]}', '{"date":[2024,13,2]}', '{"date":[2024,1]}', '{"date":["2024",1,2]}', '{"date":1.5}'),
    *('{"date":"x"}', '{"date":"2023-02-29"}', '{"time":[25,0]}', '{"time":[1]}', '{"time":1.5}', '{"time":"1:2"}'),
    *('{"local":[2024,1,2]}', '{"local":1.5}', '{"instant":[2024,1,2]}', '{"instant":1e30}', '{"instant":"x"}'),
    *('{"number":"x"}', '{"number":true}', '{"number":3000000000}', '{"number":[1]}', '{"text":[]}', '{"text":{}}'),
    *('{"real":"x"}', '{"real":true}', '{"bytes":"a-b"}', '{"bytes":"YQ"}', '{"color":"GREEN"}', '{"list":{}}'),
    *('{"number":"x","number":1}', '{"number":{"a":1},"number":1}', '{"map":{"k":"x","k":1}}', "[]", "5", ""),
    *('{"number":1/**/}', '{"real":NaN}', '{"number":01}', '{"map":[]}', '{"list":5}'),
)
STRICTER = {
    "WRONG_TYPE": (
        *('{"number":"7"}', '{"number":1.0}', '{"number":1.9}', '{"number":1e3}', '{"text":7}', '{"text":true}'),
        *('{"real":"1.5"}', '{"flag":1}', '{"flag":"true"}', '{"bytes":[1,2]}', '{"number":""}', '{"date":[]}'),
    ),
    "ENUM_AS_NUMBER": ('{"color":1}', '{"color":"1"}'),
    "OUT_OF_RANGE": ('{"real":1e400}', '{"small":1e39}'),
    "TRAILING_BYTES": ('{"number":1}xyz', '{"number":1}{"number":2}', '{"number":1}]'),
    "DUPLICATE_FIELD": ('{"number":1,"number":2}',),
    "SYNTAX": ("\ufeff{}",),
    "UNEXPECTED_NULL": ("null", '{"number":null}', '{"list":[null]}'),
    "UNKNOWN_FIELD": ('{"other":{"a":1}}',),
    "MISSING_FIELD": ("{}",),
}
"""Findings of the validator in messages that Java reads, as docs/validation-reasons.md lists them."""
REQUIRED = {"number": "0", "large": "0", "real": "0.0", "small": "0.0", "flag": "false"}


def whole(text: str) -> bytes:
    """Return the message with the fields that a class always has."""
    if not text.startswith("{") or text == "{}":
        return text.encode()
    added = "".join(f',"{name}":{each}' for name, each in REQUIRED.items() if f'"{name}"' not in text)
    end = text.rindex("}") if text.endswith("}") and "}{" not in text else text.index("}")
    return (text[:end] + added + text[end:]).encode()


def test_java_reads_what_fits_and_fails_at_what_is_refused_but_for_the_stricter_reasons() -> None:
    stricter = {whole(each): reason for reason, texts in STRICTER.items() for each in texts}
    fitting, refused = [*map(whole, READ_BY_BOTH)], [*map(whole, READ_BY_NONE)]
    requests = [
        {"op": "decode", "payload": base64.b64encode(each).decode()} for each in (*fitting, *refused, *stricter)
    ]
    described, encoded, *answers = oracle.query([{"op": "schema"}, {"op": "encode"}, *requests], ORACLE)
    schema = SchemaInfo(SchemaType.JSON, described["schema"].encode())
    written = [base64.b64decode(each) for each in encoded["payloads"]]
    assert len(written) == 3
    assert reasons(schema, [*written, *fitting]) == dict.fromkeys([*written, *fitting], "")
    assert reasons(schema, [*stricter]) == stricter
    assert "" not in reasons(schema, refused).values()
    read = [
        each for each, answer in zip((*fitting, *refused, *stricter), answers, strict=True) if answer["verdict"] is True
    ]
    assert read == [*fitting, *stricter]


def reasons(schema: SchemaInfo, contents: list[bytes]) -> dict[bytes, str]:
    validator = validator_for(schema, schema, PulsarVersion.V4_0)
    numbers = validator.validate(Column.of(contents)).reasons.tolist()
    return {content: REASONS[each] for content, each in zip(contents, numbers, strict=True)}
