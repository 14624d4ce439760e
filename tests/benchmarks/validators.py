"""Speed of judging columns of messages, beside readers of single messages: one core, processor time.

Each round runs ours and the anchor one after the other; the row is that of the round with the median ratio. AVRO's
judge is a program, which is measured by itself.
"""

import gc
import time
from collections.abc import Callable, Iterator
from typing import Any

from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.unknown_fields import UnknownFieldSet

from benchmarks.rows import Goal, Row, beside
from support.payloads import orders
from topicschema import payload
from topicschema.core import formats
from topicschema.core.formats.key_value import Encoding, KeyValue, Part, encode
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType
from topicschema.payload.columnar import validator_for
from topicschema.payload.columnar.column import Column

_MESSAGES, _FEWER, _ROUNDS = 10_000, 1_000, 7
_UNIT = "messages/s"
_TEXT = SchemaInfo(SchemaType.STRING)

Speed = Callable[[], float]


def measure() -> Iterator[Row]:
    """Yield the rows."""
    yield _json()
    yield _protobuf()
    yield _pairs()


def _json() -> Row:
    payloads = orders.json_payloads(_MESSAGES)
    reader, writer = orders.json_schema(drops=True), orders.json_schema()
    size = sum(map(len, payloads)) / len(payloads)
    single = _singly(reader, payloads[:_FEWER])
    name = f"JSON judged, {size:.0f} B, 0.65 % bad, a field dropped"
    return _row(name, _judged(reader, writer, payloads), ("payload/json, message by message", single))


def _protobuf() -> Row:
    payloads = orders.protobuf_payloads(_MESSAGES)
    reader, writer = orders.protobuf_schema(drops=True), orders.protobuf_schema()
    size = sum(map(len, payloads)) / len(payloads)
    message = GetMessageClass(orders.descriptor_of(reader))

    def upb() -> float:
        return _speed(lambda: _parse(message, payloads[:_FEWER]), _FEWER)

    name = f"protobuf judged, {size:.0f} B, 0.65 % bad, a field dropped"
    goal = Goal(1, at_most=False)
    return _row(name, _judged(reader, writer, payloads), ("upb FromString and its unknown fields", upb), goal)


def _pairs() -> Row:
    value = orders.protobuf_schema()
    schema = encode(KeyValue(Part(_TEXT), Part(value), Encoding.INLINE))
    parts = orders.protobuf_payloads(_MESSAGES, bad=0)
    payloads = [b"\0\0\0\5key-1" + len(part).to_bytes(4, "big") + part for part in parts]
    single = _singly(schema, payloads[:_FEWER])
    return _row(
        "KEY_VALUE INLINE judged", _judged(schema, schema, payloads), ("payload/key_value, pair by pair", single)
    )


def _parse(message: Any, payloads: list[bytes]) -> None:
    for content in payloads:
        try:
            parsed = message.FromString(content)
        except DecodeError:  # a bad one, as the judge says
            continue
        _walk(parsed)


def _walk(message: Any) -> None:
    """Read the unknown fields of a message and of all within it."""
    waiting = [message]
    while waiting:
        one = waiting.pop()
        len(UnknownFieldSet(one))
        for field, value in one.ListFields():
            if field.message_type is None:
                continue
            if field.message_type.GetOptions().map_entry:
                continue  # of texts, as this one is
            waiting.extend(value if field.is_repeated else [value])


def _judged(reader: SchemaInfo, writer: SchemaInfo, payloads: list[bytes]) -> Speed:
    validator = validator_for(reader, writer, PulsarVersion.V4_0)
    column = Column.of(payloads)
    validator.validate(Column.of(payloads[:10]))  # compiles
    return lambda: _speed(lambda: validator.validate(column), len(payloads))


def _singly(schema: SchemaInfo, payloads: list[bytes]) -> Speed:
    reader = payload.reader(formats.parse(schema))
    return lambda: _speed(lambda: [reader.read(each) for each in payloads], len(payloads))


def _speed(run: Callable[[], object], messages: int) -> float:
    gc.collect()
    begun = time.process_time()
    run()
    return messages / (time.process_time() - begun)


def _row(name: str, ours: Speed, anchor: tuple[str, Speed], goal: Goal | None = None) -> Row:
    rounds = sorted(((ours(), anchor[1]()) for _ in range(_ROUNDS)), key=lambda each: each[0] / each[1])
    value, theirs = rounds[_ROUNDS // 2]
    return beside(name, value, _UNIT, (anchor[0], theirs), goal)
