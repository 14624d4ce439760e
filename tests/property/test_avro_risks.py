"""Risks are real and complete: a reported field is lost or misread, and without a risk everything arrives.

fastavro, which follows Avro's specification, is the consumer. If the loss is in the meaning of a type, the consumer
reads the bytes by its own schema.
"""

import copy
import datetime as dt
import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any

import fastavro
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from support.judged import judge
from support.payloads import avro_values
from support.schemas import avro_readings
from support.schemas.avro import array, enum, field, mapping, record
from support.schemas.examples import history, parsed
from support.sizes import sized
from topicschema import payload
from topicschema.core import compatibility, formats
from topicschema.core.compatibility import Predecessor
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats.avro.risks.messages import RiskRule
from topicschema.core.policy import Policy, Strictness
from topicschema.core.schemas import Schema, SchemaType
from topicschema.core.severity import severity_of
from topicschema.core.strategies import Strategy
from topicschema.core.verdict import Candidate

RANDOMS = st.randoms(use_true_random=False)
NOON = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)
ID = field("id", "int")
_Read = Callable[[Any, Any, bytes], Any]


def resolved(writer: Any, reader: Any, message: bytes) -> Any:
    return fastavro.schemaless_reader(io.BytesIO(message), copy.deepcopy(writer), copy.deepcopy(reader))


def taken_as_its_own(writer: Any, reader: Any, message: bytes) -> Any:
    return fastavro.schemaless_reader(io.BytesIO(message), copy.deepcopy(reader), None)


def converted_to_its_own(writer: Any, reader: Any, message: bytes) -> Any:
    """Return the value after a conversion to the reader's own type."""
    value = resolved(writer, writer, message)
    return resolved(reader, reader, encoded(reader, value))


def encoded(schema: Any, value: Any) -> bytes:
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, copy.deepcopy(schema), value)
    return stream.getvalue()


@dataclass(frozen=True)
class Case:
    """Two different types, a value that shows the harm, and a consumer's way to read."""

    writer: Any
    reader: Any
    value: Any
    read: _Read = resolved


def logical(kind: str, name: str, **rest: Any) -> dict[str, Any]:
    return {"type": kind, "logicalType": name, **rest}


def decimal(precision: int, scale: int) -> dict[str, Any]:
    return logical("bytes", "decimal", precision=precision, scale=scale)


CASES = {
    "ENUM_SYMBOL_UNKNOWN": [
        Case(enum("E", "A", "B"), enum("E", "A"), "B"),
        Case(enum("E", "A", "B"), enum("E", "C", "A"), "B"),
    ],
    "ENUM_SYMBOL_REPLACED": [Case(enum("E", "A", "B"), enum("E", "A", default="A"), "B")],
    "RECORD_RENAMED": [Case(record("A", ID), record("B", ID), {"id": 1})],
    "UNION_BRANCH_BY_STRUCTURE": [Case(["string", record("A", ID)], ["string", record("B", ID)], {"id": 1})],
    "NUMBER_ROUNDED": [
        Case("int", "float", 2**24 + 1, converted_to_its_own),
        Case("long", "float", 2**24 + 1, converted_to_its_own),
        Case("long", "double", 2**53 + 1, converted_to_its_own),
    ],
    "BYTES_AS_TEXT": [Case("bytes", "string", b"\xff")],
    "LOGICAL_TYPE_CHANGED": [
        Case(logical("long", "timestamp-millis"), logical("long", "timestamp-micros"), NOON, taken_as_its_own),
        Case(logical("int", "date"), logical("int", "time-millis"), NOON.date(), taken_as_its_own),
    ],
    "LOGICAL_TYPE_ONE_SIDED": [
        Case(logical("long", "timestamp-millis"), "long", NOON, taken_as_its_own),
        Case("int", logical("int", "date"), 7, taken_as_its_own),
    ],
    "DECIMAL_SCALE_CHANGED": [Case(decimal(6, 2), decimal(6, 3), Decimal("12.34"), taken_as_its_own)],
    "DECIMAL_PRECISION_REDUCED": [Case(decimal(6, 2), decimal(4, 2), Decimal("1234.56"), converted_to_its_own)],
}
OTHERS = {"ALIAS_IN_JSON", "CLASS_RENAMED"}
"""Risks that show elsewhere: in JSON, and in the names of generated classes."""


def wrapped(random: Random, case: Case) -> tuple[Case, str]:
    """Return the two types somewhere within a schema, and the reader's place."""
    path = ""
    for level in range(random.randint(0, 3)):
        makes = [_in_record, _in_array, _in_map]
        if not isinstance(case.writer, list) and "null" not in (case.writer, case.reader):
            makes.append(_in_union)
        case, step = random.choice(makes)(case, level)
        path = step + path
    return case, "$" + path


def _in_record(case: Case, level: int) -> tuple[Case, str]:
    def record_of(kind: Any) -> Any:
        return record(f"Around{level}", field("first", "int"), field("f", kind))

    value = {"first": 0, "f": case.value}
    return Case(record_of(case.writer), record_of(case.reader), value, case.read), ".fields[1].type"


def _in_array(case: Case, _: int) -> tuple[Case, str]:
    writer, reader = (array(each) for each in (case.writer, case.reader))
    return Case(writer, reader, [case.value], case.read), ".items"


def _in_map(case: Case, _: int) -> tuple[Case, str]:
    writer, reader = (mapping(each) for each in (case.writer, case.reader))
    return Case(writer, reader, {"k": case.value}, case.read), ".values"


def _in_union(case: Case, _: int) -> tuple[Case, str]:
    return Case(["null", case.writer], ["null", case.reader], case.value, case.read), "[1]"


def as_schema(value: Any, kind: SchemaType = SchemaType.PROTOBUF) -> Schema:
    """Return a schema of PROTOBUF, which accepts a union at the top and is read as AVRO is."""
    return parsed(kind, json.dumps(value))


def risks(reader: Any, writer: Any) -> set[tuple[str, str]]:
    return {(each.rule, each.reader_path) for each in formats.risks(as_schema(reader), as_schema(writer))}


@given(RANDOMS, st.sampled_from([(rule, case) for rule, cases in CASES.items() for case in cases]))
@settings(max_examples=300, deadline=None)
def test_a_reported_risk_does_harm_at_any_place(random: Random, chosen: tuple[str, Case]) -> None:
    rule, leaf = chosen
    case, path = wrapped(random, leaf)
    place = path + "[1]" if isinstance(leaf.reader, list) else path
    # A renamed record in a union is a guess, not a rename.
    rules = {rule, "UNION_BRANCH_BY_STRUCTURE"} if rule == "RECORD_RENAMED" and path.endswith("[1]") else {rule}
    reported = risks(case.reader, case.writer)
    assert {name for name, at in reported if at == place} & rules
    message = encoded(case.writer, case.value)
    try:
        read = case.read(case.writer, case.reader, message)
    except (fastavro.schema.SchemaParseException, fastavro._read_common.SchemaResolutionError, ValueError):
        return
    assert read != case.value or type(read) is not type(case.value)


def test_each_risk_of_avro_has_such_a_case() -> None:
    assert CASES.keys() | OTHERS == {each.value for each in RiskRule}


def test_a_json_reader_ignores_an_alias() -> None:
    before = as_schema(record("R", field("a", "int")), SchemaType.JSON)
    after = as_schema(record("R", field("b", "int", aliases=["a"], default=0)), SchemaType.JSON)
    assert [each.rule for each in formats.risks(after, before)] == ["ALIAS_IN_JSON"]
    message = payload.encode(before, {"a": 7}).payload
    assert payload.decode(after, message).get("b") != 7


def evolved(random: Random, schema: Any) -> Any:
    """Return the schema after a few edits that the broker may accept."""
    edited = copy.deepcopy(schema)
    missing = random.randint(1, 3)
    for _ in range(20):
        before = copy.deepcopy(edited)
        random.choice(EDITS)(random, random.choice(_types(edited)))
        missing -= edited != before
        if not missing:
            break
    return edited


def _types(value: Any) -> list[dict[str, Any]]:
    """Return all objects in a schema that have a type."""
    if isinstance(value, list):
        return [spot for branch in value for spot in _types(branch)]
    if not isinstance(value, dict):
        return []
    inner = [value.get("items"), value.get("values"), value["type"], *value.get("fields", ())]
    return [value, *(spot for each in inner for spot in _types(each))]


def _rename(random: Random, spot: dict[str, Any]) -> None:
    if spot["type"] == "record":
        spot["name"] = random.choice(("N1", "N2", "Other", "space.N1"))


def _drop_symbol(_: Random, spot: dict[str, Any]) -> None:
    if spot["type"] == "enum":
        spot["symbols"] = spot["symbols"][1:] or ["Z"]


def _widen(random: Random, spot: dict[str, Any]) -> None:
    for inner in ("items", "values", "type"):
        if inner in spot and isinstance(spot[inner], str) and spot[inner] in avro_values._VALUES:
            spot[inner] = random.choice(("long", "double", "float", "string", "bytes"))


def _shuffle(random: Random, spot: dict[str, Any]) -> None:
    random.shuffle(spot.get("fields", []))


def _label(random: Random, spot: dict[str, Any]) -> None:
    for inner in ("items", "values", "type"):
        if spot.get(inner) == "long":
            spot[inner] = logical("long", random.choice(("timestamp-millis", "x")))


def _add(random: Random, spot: dict[str, Any]) -> None:
    if "fields" in spot and all(each["name"] != "new" for each in spot["fields"]):
        default = random.choice(({}, {"default": 1}, {"default": 1}))
        spot["fields"].insert(random.randint(0, len(spot["fields"])), {"name": "new", "type": "int", **default})


def _drop(random: Random, spot: dict[str, Any]) -> None:
    if spot.get("fields"):
        spot["fields"].pop(random.randrange(len(spot["fields"])))


EDITS = (_rename, _drop_symbol, _widen, _widen, _shuffle, _label, _add, _drop)


def arrives(read: Any, written: Any) -> bool:
    if isinstance(read, dict) and isinstance(written, dict):
        return all(arrives(read[key], written[key]) for key in read.keys() & written.keys())
    if isinstance(read, list) and isinstance(written, list):
        return len(read) == len(written) and all(map(arrives, read, written))
    if isinstance(read, bytes) and isinstance(written, str):
        return read == written.encode()
    return bool(read == written)


@given(RANDOMS)
@settings(max_examples=sized(150, 400), deadline=None)
def test_without_a_reported_risk_everything_arrives(random: Random) -> None:
    writer = avro_values.schema(random)
    reader = evolved(random, writer)
    try:
        if formats.unreadable(as_schema(reader, SchemaType.JSON), as_schema(writer, SchemaType.JSON)):
            return
        if risks(reader, writer):
            return
    except InvalidSchemaError:
        assume(False)  # noqa: FBT003  # an edit may give two types one name
    value = avro_values.value(random, writer)
    assert arrives(resolved(writer, reader, encoded(writer, value)), value)


@given(RANDOMS)
@settings(max_examples=300, deadline=None)
def test_strict_admits_no_more_than_broker_and_broker_no_less_because_of_risks(random: Random) -> None:
    try:
        before, candidate = (as_schema(json.loads(each), SchemaType.JSON) for each in avro_readings.pair(random))
    except InvalidSchemaError:
        assume(False)  # noqa: FBT003  # a default may not fit
    for strategy in Strategy:
        verdicts = {
            each: judge(Candidate(candidate), history(before), Policy(strategy, each), {0: before})
            for each in Strictness
        }
        broker, strict = verdicts[Strictness.BROKER], verdicts[Strictness.STRICT]
        assert broker.is_compatible or not strict.is_compatible
        assert strict.incompatibilities == broker.incompatibilities + broker.risks
        assert all(severity_of(each.rule) for each in broker.risks)
        if candidate.fingerprint != before.fingerprint:
            effective = broker.strategy.value
            checked = compatibility.check(candidate, [Predecessor(0, SchemaType.JSON, before)], effective)
            assert broker.incompatibilities == checked


@given(RANDOMS)
@settings(max_examples=200, deadline=None)
def test_a_schema_is_no_risk_to_itself(random: Random) -> None:
    text = json.loads(avro_readings.pair(random)[0])
    try:
        schema = as_schema(text, SchemaType.JSON)
        assert formats.risks(schema, as_schema(text, SchemaType.JSON)) == ()
    except InvalidSchemaError:
        assume(False)  # noqa: FBT003  # a default may not fit
