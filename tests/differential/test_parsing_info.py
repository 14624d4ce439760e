"""PROTOBUF schemas as Pulsar's Java client makes them of generated classes: what their `__PARSING_INFO__` tells us."""

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
    """The messages that Google's common protos have at the top of a file."""
    ends = "OrBuilder.class"
    with zipfile.ZipFile(next(jars().glob("proto-google-common-protos-*.jar"))) as jar:
        names = [name.removesuffix(ends).replace("/", ".") for name in jar.namelist() if name.endswith(ends)]
    return [name for name in names if "$" not in name]


def both() -> list[tuple[str, Schema, ProtobufNativeSchema]]:
    """Each message as a PROTOBUF and as a PROTOBUF_NATIVE, where Avro has a schema for it."""
    names = classes()
    asked = [{"op": op, "name": name} for op in ("info", "class") for name in names]
    answers = oracle.ask(asked, ORACLE)
    found = []
    for name, info, envelope in zip(names, answers, answers[len(names) :], strict=False):
        if info["verdict"] is True:
            text, properties = info["schema"].encode(), info["properties"]
            native = formats.parse(SchemaInfo(SchemaType.PROTOBUF_NATIVE, envelope["envelope"].encode()))
            assert isinstance(native, ProtobufNativeSchema)
            found.append((name, formats.parse(SchemaInfo(SchemaType.PROTOBUF, text, properties)), native))
    return found


def told(field: FieldPlan) -> tuple[int, str, Kind, bool]:
    read_as = {Kind.MESSAGE: Kind.BYTES, Kind.ENUM: Kind.INT32}
    return field.number, field.name, read_as.get(field.kind, field.kind), field.is_repeated


def shown(plan: Any, value: dict[str, Any]) -> dict[str, Any]:
    """Those of a message's fields that hold no messages and no symbols: of these alone both types say the same."""
    kept = {each.name for each in plan.written if each.kind not in (Kind.MESSAGE, Kind.ENUM)}
    return {name: each for name, each in value.items() if name in kept}


def test_what_the_client_leaves_in_the_property_is_what_the_descriptor_says() -> None:
    messages = both()
    assert len(messages) > 100
    for number, (name, schema, native) in enumerate(messages):
        plan, known = protobuf_native.plan_of(schema), protobuf_native.plan_of(native)
        assert [told(each) for each in plan.written] == [told(each) for each in known.written], name
        rng = random.Random(SEED + number)  # noqa: S311  # a seed, not a secret
        value = protobuf_values.value(rng, known)
        content = payload.encode(native, value).payload
        found = [shown(known, payload.decode(each, content)) for each in (schema, native)]
        assert repr(found[0]) == repr(found[1]), name  # NaN is NaN
