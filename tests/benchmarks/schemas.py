"""Schemas of a chosen size like real ones: nested records with documented fields."""

import json
from typing import Any

_KINDS: tuple[Any, ...] = (
    "string",
    "long",
    ["null", "string"],
    {"type": "array", "items": "string"},
    {"type": "map", "values": "double"},
    {"type": "long", "logicalType": "timestamp-millis"},
)


def schema(size: int, revision: int = 0) -> str:
    """Return an Avro record of about `size` bytes. Another `revision` adds one optional field of its own name."""
    fields: list[dict[str, Any]] = []
    length = 0
    while length < size:
        fields.append(_section(len(fields)))
        length += len(json.dumps(fields[-1]))
    if revision:
        fields.append({"name": f"added{revision}", "type": ["null", "string"], "default": None})
    return json.dumps({"type": "record", "name": "Order", "namespace": "shop.orders", "fields": fields})


def _section(number: int) -> dict[str, Any]:
    inner = [
        {
            "name": f"field{position}",
            "type": _KINDS[(number + position) % len(_KINDS)],
            "doc": f"What the order says of item {position} in section {number}, as the shop wrote it down.",
        }
        for position in range(8)
    ]
    record = {"type": "record", "name": f"Section{number}", "fields": inner}
    return {"name": f"section{number}", "type": record, "doc": f"Section {number} of the order."}
