"""The messages of measurements of validators: an order, as JSON of some 630 bytes and as protobuf of some 280."""

import base64
import json
from random import Random
from typing import Any, Final

from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool

from support.schemas import protobuf_schemas
from topicschema import payload
from topicschema.core import formats
from topicschema.core.schemas import SchemaInfo, SchemaType

SEED: Final = 633
_LINE: Final = [("sku", "string"), ("quantity", "int"), ("price", "double")]


def json_schema(*, drops: bool = False) -> SchemaInfo:
    """Return the order's schema; with `drops`, a reader's that lacks a field."""
    line = {"type": "record", "name": "Line", "fields": [{"name": name, "type": kind} for name, kind in _LINE]}
    state = {"type": "enum", "name": "State", "symbols": ["NEW", "PAID", "SENT"]}
    address = ["street", "city", "country", *([] if drops else ["remark"])]
    fields = [
        *({"name": name, "type": kind} for name, kind in (("id", "long"), ("customer", "string"), ("total", "double"))),
        {"name": "state", "type": state},
        {"name": "placed", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "coupon", "type": ["null", "string"], "default": None},
        {"name": "gift", "type": "boolean", "default": False},
        {"name": "lines", "type": {"type": "array", "items": line}},
        {"name": "tags", "type": {"type": "map", "values": "string"}},
        {"name": "address", "type": {"type": "record", "name": "Address", "fields": [
            {"name": name, "type": "string"} for name in address]}},
        {"name": "signature", "type": "bytes"},
    ]  # fmt: skip
    return SchemaInfo(
        SchemaType.JSON, json.dumps({"type": "record", "name": "Order", "namespace": "shop", "fields": fields}).encode()
    )


def order(rng: Random) -> dict[str, Any]:
    """Return an order."""
    return {
        "id": rng.getrandbits(48),
        "customer": f"customer-{rng.getrandbits(32):08x}",
        "total": round(rng.random() * 1_000, 2),
        "state": rng.choice(("NEW", "PAID", "SENT")),
        "placed": 1_760_000_000_000 + rng.getrandbits(32),
        **({"coupon": f"AUTUMN-{rng.randrange(100)}"} if rng.random() < 0.4 else {}),
        "gift": rng.random() < 0.1,
        "lines": [
            {"sku": f"sku-{rng.getrandbits(40):010x}", "quantity": rng.randint(1, 9), "price": round(rng.random(), 3)}
            for _ in range(rng.randint(3, 5))
        ],
        "tags": {name: f"value of {name}" for name in rng.sample(("channel", "region", "shop", "campaign"), 2)},
        "address": {
            "street": f"{rng.randrange(200)} Rue de l'Église",
            "city": "Besançon",
            "country": "FR",
            "remark": "please leave it at the gate on the left",
        },
        "signature": base64.b64encode(rng.randbytes(32)).decode(),
    }


def protobuf_schema(*, drops: bool = False) -> SchemaInfo:
    """Return the order's descriptors; with `drops`, a reader's that lack a field."""
    file = FileDescriptorProto(name="order.proto", package="shop", syntax="proto3")
    state = file.enum_type.add(name="State")
    for number, name in enumerate(("NEW", "PAID", "SENT")):
        state.value.add(name=name, number=number)
    line, address, order = (file.message_type.add(name=name) for name in ("Line", "Address", "Order"))
    _fields(line, [("sku", 9, 1, ""), ("quantity", 5, 1, ""), ("price", 1, 1, "")])
    parts = ["street", "city", "country", *([] if drops else ["remark"])]
    _fields(address, [(name, 9, 1, "") for name in parts])
    entry = order.nested_type.add(name="TagsEntry")
    entry.options.map_entry = True
    _fields(entry, [("key", 9, 1, ""), ("value", 9, 1, "")])
    of_order = [("id", 3, 1, ""), ("customer", 9, 1, ""), ("total", 1, 1, ""), ("state", 14, 1, ".shop.State")]
    of_order += [("placed", 3, 1, ""), ("coupon", 9, 1, ""), ("gift", 8, 1, ""), ("lines", 11, 3, ".shop.Line")]
    of_order += [("tags", 11, 3, ".shop.Order.TagsEntry"), ("address", 11, 1, ".shop.Address")]
    _fields(order, [*of_order, ("signature", 12, 1, ""), ("ratings", 5, 3, "")])
    files = FileDescriptorSet(file=[file])
    envelope = protobuf_schemas.envelope(files, "shop.Order", "order.proto")
    return SchemaInfo(SchemaType.PROTOBUF_NATIVE, json.dumps(envelope).encode())


def descriptor_of(schema: SchemaInfo) -> Any:
    """Return google.protobuf's descriptor of the root message."""
    envelope = json.loads(schema.schema)
    pool = DescriptorPool()
    for file in FileDescriptorSet.FromString(base64.b64decode(envelope["fileDescriptorSet"])).file:
        pool.Add(file)  # type: ignore[no-untyped-call]  # it has no type in the stubs
    return pool.FindMessageTypeByName(envelope["rootMessageTypeName"])


def _fields(message: Any, fields: list[tuple[str, int, int, str]]) -> None:
    for number, (name, kind, label, type_name) in enumerate(fields, start=1):
        message.field.add(name=name, number=number, type=kind, label=label, type_name=type_name or None)


def protobuf_payloads(messages: int, bad: float = 0.0065) -> list[bytes]:
    """Return orders, some invalid: truncated, an unknown enum number, a field of another wire type."""
    rng = Random(SEED)  # noqa: S311  # as below
    schema = formats.parse(protobuf_schema())
    payloads = []
    for _ in range(messages):
        one = order(rng)
        one["signature"] = base64.b64decode(one["signature"])
        one["ratings"] = [rng.randrange(1_000) for _ in range(4)]
        one["lines"] = one["lines"][:3]
        content = payload.encode(schema, one).payload or b""
        if rng.random() < bad:
            content = rng.choice((content[:-3], content + b"\x20\x07", content + b"\x0d\0\0\0\0"))
        payloads.append(content)
    return payloads


def json_payloads(messages: int, bad: float = 0.0065) -> list[bytes]:
    """Return orders, some invalid."""
    rng = Random(SEED)  # noqa: S311  # a seed, not a secret
    payloads = []
    for _ in range(messages):
        one = order(rng)
        if rng.random() < bad:
            one.update(rng.choice(({"id": "none"}, {"state": "LOST"}, {"lines": None}, {"total": "much"})))
        payloads.append(json.dumps(one, ensure_ascii=False, separators=(",", ":")).encode())
    return payloads
