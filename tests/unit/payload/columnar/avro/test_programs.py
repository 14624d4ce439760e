"""Verdict programs: their verdicts on single messages, their counts, and the bounds of their work."""

import json
import math
import pickle
import random
import struct
from typing import Any

import numpy as np
import pytest

from support.payloads.avro_messages import number
from support.payloads.verdicts import losses, verdicts
from support.schemas.avro import array, field, fixed, mapping, record
from topicschema import payload
from topicschema.core import formats
from topicschema.core.formats.avro import AvroSchema
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType
from topicschema.payload.columnar.avro import ProgramValidator, compile_program, run
from topicschema.payload.columnar.avro.opcodes import MAX_INSTRUCTIONS
from topicschema.payload.columnar.column import Column
from topicschema.payload.columnar.verdicts import ELSEWHERE

LIST = record("L", field("v", "int"), field("next", ["null", "L"]))


def parsed(text: Any, pulsar_version: PulsarVersion = PulsarVersion.V4_0) -> AvroSchema:
    schema = formats.parse(SchemaInfo(SchemaType.AVRO, json.dumps(text).encode()), pulsar_version)
    assert isinstance(schema, AvroSchema)
    return schema


def validator(writer: Any, reader: Any = None) -> ProgramValidator:
    return ProgramValidator(compile_program(parsed(writer if reader is None else reader), parsed(writer)))


DOUBLES = record("R", field("a", ["null", array("double")]))
"""An array whose items Avro 1.12.0 stores as floats."""


@pytest.mark.parametrize("pulsar_version", PulsarVersion)
def test_doubles_of_an_array_that_are_no_floats_are_a_loss_from_4_1_on(pulsar_version: PulsarVersion) -> None:
    schema = parsed(DOUBLES, pulsar_version)
    judging = ProgramValidator(compile_program(schema, schema))
    rest = (1 / 3, 1e300, -1e300, 1e-320, 1e-46, 2.0**-150, 2.0**-149 * 1.5, 2.0**-126 * (1 + 2.0**-24), 2.0**128)
    floats = (0.0, -0.0, 1.5, -(2.0**-149), 2.0**-148 * 1.5, 2.0**-127, 3.4028234663852886e38, math.inf, math.nan)
    has_loss = pulsar_version is not PulsarVersion.V4_0
    for value, is_lost in (*((each, has_loss) for each in rest), *((each, False) for each in floats)):
        content = b"\2\4" + struct.pack("<dd", 1.0, value) + b"\0"
        assert losses(judging, content) == ({("ARRAY_OF_DOUBLES_AS_FLOATS", "$.a[]"): 1} if is_lost else {})
        read, results = payload.reader(schema).read(content)
        assert [(each.rule, each.path, each.offset, each.is_tolerated) for each in results] == [
            ("ARRAY_OF_DOUBLES_AS_FLOATS", "$.a", 1, True)
        ] * is_lost
        assert (read["a"][1] == value or math.isnan(value)) is not is_lost
    assert verdicts(judging, content[:-1], content[:-2]) == [("TRUNCATED", "$.a", 18), ("TRUNCATED", "$.a[]", 10)]


@pytest.mark.parametrize(
    ("writer", "reader", "value", "read", "is_lost"),
    [
        (array("double"), array({"type": "double", "logicalType": "x"}), [0.1], [0.10000000149011612], True),
        (array("double"), array(["null", "double"]), [0.1], [0.1], False),
        (mapping("double"), None, {"k": 0.1}, {"k": 0.1}, False),
        ("double", None, 0.1, 0.1, False),
        (array("int"), array("double"), [16_777_217], [16_777_216.0], True),
        (array("int"), array("double"), [16_777_216], [16_777_216.0], False),
        (array("long"), array("double"), [-16_777_217], [-16_777_216.0], True),
        (array("float"), array("double"), [0.5], [0.5], False),
        (array(["double", "int"]), array("double"), [0.1], [0.10000000149011612], True),
        (array("int"), array("float"), [16_777_217], [16_777_216.0], False),
    ],
)
def test_only_items_that_are_doubles_and_no_union_are_stored_as_floats(
    writer: Any,
    reader: Any,
    value: Any,
    read: Any,
    is_lost: bool,  # noqa: FBT001  # a parameter of the test
) -> None:
    versions = [parsed(record("R", field("a", kind)), PulsarVersion.V4_2) for kind in (reader or writer, writer)]
    content = payload.encode(versions[1], {"a": value}).payload
    assert content is not None
    got, results = payload.reader(*versions).read(content)
    assert got == {"a": read}
    assert [each.rule for each in results] == ["ARRAY_OF_DOUBLES_AS_FLOATS"] * is_lost
    judging = ProgramValidator(compile_program(*versions))
    counted = {kind for kind, _ in losses(judging, content)}
    assert counted == ({"ARRAY_OF_DOUBLES_AS_FLOATS"} if is_lost else {"PRECISION_LOST"} if read != value else set())


def test_doubles_of_an_array_that_the_reader_drops_are_no_loss() -> None:
    versions = [parsed(each, PulsarVersion.V4_1) for each in (record("R"), DOUBLES)]
    content = b"\2\2" + struct.pack("<d", 0.1) + b"\0"
    assert payload.reader(*versions).read(content) == ({}, ())
    assert losses(ProgramValidator(compile_program(*versions)), content) == {("FIELD_DROPPED", "$.a"): 1}


def test_versions_on_which_avro_breaks_down_read_nothing() -> None:
    reader = record("R", {**field("x", "int"), "default": "text"})
    schema = formats.parse(SchemaInfo(SchemaType.AVRO, json.dumps(reader).encode()), validate_defaults=False)
    assert isinstance(schema, AvroSchema)
    judging = ProgramValidator(compile_program(schema, parsed(record("R"))))
    assert verdicts(judging, b"", b"\0") == [("CANNOT_READ", "$", 0)] * 2


def test_a_field_that_the_reader_drops_is_validated_except_where_java_skips_it() -> None:
    kinds = {"type": "enum", "name": "E", "symbols": ["A"]}
    writer = record("R", field("e", kinds), field("b", array("string")), field("a", "int"))
    judging = validator(writer, record("R", field("a", "int")))
    sized = b"\0\1\4\2x\0\2"
    assert verdicts(judging, sized, b"\2\0\2", b"\0\1\6\2x\0\2", b"\0\2\1\0\2", b"\0\2\x08xx") == [
        ("", "$", -1),
        ("SKIPPED_SYMBOL", "$.e", 0),
        ("SKIPPED_CORRUPT", "$.b", 1),
        ("SKIPPED_CORRUPT", "$.b[]", 2),
        ("TRUNCATED", "$.b[]", 3),
    ]
    assert losses(judging, sized, sized, b"\2\0\2") == {("FIELD_DROPPED", "$.e"): 2, ("FIELD_DROPPED", "$.b"): 2}


def test_losses_count_messages_not_values() -> None:
    kinds = {"type": "enum", "name": "E", "symbols": ["A", "B"]}
    writer = record("R", field("n", array("long")), field("m", array(kinds)))
    reader = record("R", field("n", array("double")), field("m", array({**kinds, "symbols": ["A"], "default": "A"})))
    exact = b"".join(map(number, (2**53, -(2**53), 2**60 + 2**8, -(2**63)))).join((b"\x08", b"\0"))
    rounded = b"\4" + number(2**53 + 1) + number(-(2**63) + 1) + b"\0"
    messages = [exact + b"\0", rounded + b"\2\0\0", rounded + b"\4\2\2\0"]
    expected = {("PRECISION_LOST", "$.n[]"): 2, ("SYMBOL_REPLACED", "$.m[]"): 1}
    assert losses(validator(writer, reader), *messages) == expected


def test_paths_in_repeated_records_are_distinct() -> None:
    pair = record("P", field("x", "int"), field("y", "int"))
    writer = record("R", field("a", pair), field("b", "P"), field("c", array("P")))
    judging = validator(
        writer, record("R", field("a", record("P", field("y", "int"))), field("b", "P"), field("c", array("P")))
    )
    results = verdicts(judging, b"\2", b"\2\2\2", b"\2\2\2\2\2\2")
    assert [path for _, path, _ in results] == ["$.a.y", "$.b.y", "$.c[].y"]
    paths = ("$.a.x", "$.b.x")
    assert losses(judging, b"\2\2\2\2\0") == {("FIELD_DROPPED", path): 1 for path in paths}
    again = pickle.loads(pickle.dumps(judging))  # noqa: S301  # our own
    assert verdicts(again, b"\2\2\2") == [("TRUNCATED", "$.b.y", 3)]


def test_a_record_within_itself_is_read_as_deep_as_the_decoder_reads() -> None:
    judging = validator(LIST)
    whole, deeper = (b"\2\2" * (depth - 1) + b"\2\0" for depth in (700, 701))
    assert verdicts(judging, whole, deeper, b"\2\2\2") == [
        ("", "$", -1),
        ("TOO_DEEP", "$" + ".next" * 20 + "…" + ".next" * 20, 1_400),
        ("TRUNCATED", "$.next.next", 3),
    ]
    [finding] = payload.validate(parsed(LIST), deeper)
    assert (finding.rule, finding.offset) == ("TOO_DEEP", 1_400)


def test_at_most_a_thousand_paths_are_distinct() -> None:
    judging = validator(record("R", field("a", ["null", "R"]), field("b", ["null", "R"]), field("v", "int")))
    left = [b"\2" * depth for depth in range(1, 600)]
    right = [b"\0\2" * depth for depth in range(1, 600)]
    results = verdicts(judging, *left, *right)
    assert results[0] == ("TRUNCATED", "$.a.a", 1)
    assert 990 < len(judging.paths) - len(judging.program.routes.steps) <= 1_001
    assert results[-1] == ("TRUNCATED", ELSEWHERE, 1_198)


@pytest.mark.parametrize("items", ["null", record("E"), fixed("F", 0), record("N", field("x", "null"))], ids=str)
@pytest.mark.parametrize("count", [2**60, -(2**63), 20_003])
def test_values_that_take_no_bytes_are_not_read_without_end(items: Any, count: int) -> None:
    content = number(count) + (number(0) if count < 0 else b"")
    [(reason, path, offset)] = verdicts(validator(array(items)), content)
    assert (reason, offset) == ("TOO_MANY_VALUES" if count != 20_003 else "TRUNCATED", len(content))
    assert path.startswith("$") or reason == "TRUNCATED"


def test_records_in_records_that_take_no_bytes_are_not_read_without_end() -> None:
    kind: Any = record("R0")
    for level in range(1, 60):
        kind = record(f"R{level}", field("a", kind), field("b", f"R{level - 1}"))
    [(reason, _, _)] = verdicts(validator(kind), b"")
    assert reason == "TOO_MANY_VALUES"


def test_a_large_message_is_read_without_memory_of_its_own() -> None:
    judging = validator(array("boolean"))
    size = 5_000_000
    whole = number(size) + b"\1" * size + b"\0"
    assert verdicts(judging, whole, whole[:-2], number(2**60) + whole) == [
        ("", "$", -1),
        ("TRUNCATED", "$[]", len(whole) - 2),
        ("INVALID_BOOLEAN", "$[]", len(number(2**60))),
    ]


def test_unions_that_multiply_make_no_program_beyond_its_bound() -> None:
    kinds = [record(f"W{each}", field("x", [f"W{other}" for other in range(each)] or "int")) for each in range(700)]
    text = record("R", *(field(f"f{index}", kind) for index, kind in enumerate(kinds)))
    program = compile_program(parsed(text), parsed(text))
    assert len(program.code) <= MAX_INSTRUCTIONS


def test_a_column_may_be_read_only_memory_and_may_have_nulls() -> None:
    judging = validator("long")
    values = np.frombuffer(b"\2\2\2", np.uint8)
    assert not values.flags.writeable
    assert verdicts(judging, b"\2", None, b"\2\2") == [("", "$", -1), ("", "$", -1), ("TRAILING_BYTES", "$", 1)]
    column = Column.between(values, np.array([1, 2, 3], np.int64))
    assert run(judging.program, column).reasons.tolist() == [0, 0]


@pytest.mark.parametrize("size", range(1, 6))
def test_texts_are_utf_8_to_a_program_exactly_where_they_are_to_python(size: int) -> None:
    rng = random.Random(size)  # noqa: S311  # a seed
    bytes_ = bytes.fromhex("00417f808f909fa0bfc1c2dfe0e1edeff0f4f5")
    texts = [bytes(rng.choices(bytes_, k=size)) for _ in range(3_000)]
    results = verdicts(validator("string"), *(number(size) + text for text in texts))
    assert results == [expected_verdict(text) for text in texts]


def test_all_bytes_of_long_texts_are_checked_and_none_beyond() -> None:
    rng = random.Random(8)  # noqa: S311  # a seed
    sizes = [size for size in range(42) for _ in range(60)]
    texts = ["".join(rng.choices("aZ 0\x7f" * 4 + "ßö€😀", k=size)).encode()[:60] for size in sizes]
    texts += [
        text[:at] + bytes([rng.choice((0x80, 0xC3, 0xFF))]) + text[at + 1 :] for text in texts for at in (0, 7, 8)
    ]
    judging = validator("string")
    assert verdicts(judging, *(number(len(text)) + text for text in texts)) == [
        expected_verdict(text) for text in texts
    ]
    assert [verdicts(judging, number(len(text)) + text)[0] for text in texts[::7]] == [
        expected_verdict(text) for text in texts[::7]
    ]


def expected_verdict(text: bytes) -> tuple[str, str, int]:
    try:
        text.decode()
    except UnicodeDecodeError as error:
        return "INVALID_UTF8", "$", 1 + error.start
    return "", "$", -1


def test_a_record_of_a_union_is_chosen_as_java_does_without_reading_arrays() -> None:
    writer = array(["null", record("n.S", field("d", array("double")))])
    reader = array(["null", record("m.S", field("d", array(record("T"))))])
    assert verdicts(validator(writer, reader), b"\2\2\0\0", b"\2\2\2" + bytes(10)) == [
        ("", "$", -1),
        ("CANNOT_READ", "$[].d[]", 3),
    ]
    assert payload.decode(parsed(reader), b"\2\2\0\0", writer=parsed(writer)) == [{"d": []}]
