"""PROTOBUF schemas as Pulsar's Java client makes them of generated classes, with their property `__PARSING_INFO__`."""

import random
import zipfile
from pathlib import Path
from typing import Any

import pytest

from differential import oracle
from differential.test_protobuf_sources import jars
from support.payloads import protobuf_values
from topicschema import payload
from topicschema.core import formats
from topicschema.core.formats.protobuf_native import ProtobufNativeSchema
from topicschema.core.formats.protobuf_native.model import Kind
from topicschema.core.schemas import Schema, SchemaInfo, SchemaType
from topicschema.payload import protobuf_native
from topicschema.payload.protobuf_native import FieldPlan

pytestmark = pytest.mark.differential

ORACLE = Path(__file__).parent / "envelope" / "EnvelopeOracle.java"
SEED = 30_770


def classes() -> list[str]:
    """Return the messages that Google's common protos have at the top of a file."""
    ends = "OrBuilder.class"
    with zipfile.ZipFile(next(jars().glob("proto-google-common-protos-*.jar"))) as jar:
        names = [name.removesuffix(ends).replace("/", ".") for name in jar.namelist() if name.endswith(ends)]
    return [name for name in names if "$" not in name]


def both() -> list[tuple[str, Schema, ProtobufNativeSchema]]:
    """Return each message as a PROTOBUF and as a PROTOBUF_NATIVE, if Avro has a schema for it."""
    names = classes()
    requests = [{"op": op, "name": name} for op in ("info", "class") for name in names]
    answers = oracle.query(requests, ORACLE)
    schemas = []
    for name, info, envelope in zip(names, answers, answers[len(names) :], strict=False):
        if info["verdict"] is True:
            text, properties = info["schema"].encode(), info["properties"]
            native = formats.parse(SchemaInfo(SchemaType.PROTOBUF_NATIVE, envelope["envelope"].encode()))
            assert isinstance(native, ProtobufNativeSchema)
            schemas.append((name, formats.parse(SchemaInfo(SchemaType.PROTOBUF, text, properties)), native))
    return schemas


def described(field: FieldPlan) -> tuple[int, str, Kind, bool]:
    read_as = {Kind.MESSAGE: Kind.BYTES, Kind.ENUM: Kind.INT32}
    return field.number, field.name, read_as.get(field.kind, field.kind), field.is_repeated


def shown(plan: Any, value: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a message without messages and symbols: of these alone both types have the same value."""
    plain = {each.name for each in plan.written if each.kind not in (Kind.MESSAGE, Kind.ENUM)}
    return {name: each for name, each in value.items() if name in plain}


def test_the_client_s_property_has_the_fields_of_the_descriptor() -> None:
    messages = both()
    assert len(messages) > 100
    for number, (name, schema, native) in enumerate(messages):
        plan, known = protobuf_native.plan_of(schema), protobuf_native.plan_of(native)
        assert [described(each) for each in plan.written] == [described(each) for each in known.written], name
        rng = random.Random(SEED + number)  # noqa: S311  # a seed, not a secret
        value = protobuf_values.value(rng, known)
        content = payload.encode(native, value).payload
        values = [shown(known, payload.decode(each, content)) for each in (schema, native)]
        assert repr(values[0]) == repr(values[1]), name  # NaN is NaN
