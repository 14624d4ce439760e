"""JSON payloads for Avro-defined schemas, by the seed: right ones, nearly right ones, and text that is no JSON."""

import base64
import json
from random import Random
from typing import Any, Final

from topicschema.core.formats.avro.model import Array, Enum, Fixed, Map, Node, Primitive, Record, Union

_ODD: Final = (None, True, 0, -1, 2**31, 2**53 + 1, 2**63, 10**400, 0.5, 1e300, "", "text", "NaN", "A", "YQ==", [], {})
_SINGLE: Final[dict[str, tuple[Any, ...]]] = {
    "null": (None,),
    "boolean": (True, False),
    "int": (-(2**31), 0, 2**31 - 1),
    "long": (-(2**63), 2**24 + 1, 2**63 - 1),
    "float": (0.5, 0.1, 2**24 + 1, "NaN", -0.0, 3.5e38),
    "double": (0.1, 1e300, 2**53 + 1, "-Infinity", 7),
    "bytes": ("", "YQ==", "/w=="),
    "string": ("", "text", "é\U0001f600", "\ud800"),
}


def value(rng: Random, node: Node, depth: int = 5, wrong: float = 0.02) -> Any:  # noqa: PLR0911  # one for each type
    """Return a JSON value of the type, sometimes of another one."""
    if rng.random() < wrong:
        return rng.choice(_ODD)
    if isinstance(node, Union):
        return value(rng, rng.choice(node.branches), depth, wrong) if node.branches else None
    if isinstance(node, Record):
        return _record(rng, node, depth, wrong)
    count = rng.randint(0, 2) if depth > 0 else 0
    if isinstance(node, Array):
        return [value(rng, node.items, depth - 1, wrong) for _ in range(count)]
    if isinstance(node, Map):
        return {rng.choice(("a", "k", "é")): value(rng, node.values, depth - 1, wrong) for _ in range(count)}
    if isinstance(node, Enum):
        return rng.choice(node.symbols) if node.symbols else "A"
    if isinstance(node, Fixed):
        return base64.b64encode(bytes(node.size)).decode()
    assert isinstance(node, Primitive)
    return rng.choice(_SINGLE[node.kind])


def _record(rng: Random, node: Record, depth: int, wrong: float) -> Any:
    if depth < -3:
        return {}
    fields = [each for each in node.fields if rng.random() >= wrong]
    made = {field.name: value(rng, field.type, depth - 1, wrong) for field in fields}
    if rng.random() < wrong:
        made["unknown"] = rng.choice(_ODD)
    return made


def content(rng: Random, node: Node) -> bytes:
    """Return a payload."""
    wrong = rng.choice((0.0, 0.0, 0.02, 0.3))
    written = json.dumps(value(rng, node, wrong=wrong), ensure_ascii=rng.random() < 0.5, indent=rng.choice((None, 1)))
    if rng.random() < 0.05:
        written = written.replace("{", rng.choice(('{"a":1,', '{"a" :1,"a": 2,', '{"a:":"\\":",')), 1)
        written = written.replace(",}", "}")
    if rng.random() < 0.05:
        written = written.replace("e+300", "e+400")
    if rng.random() < 0.8:
        return written.encode("utf-8", "surrogatepass")
    out = bytearray(written.encode("utf-8", "surrogatepass"))
    for _ in range(rng.randint(1, 2)):
        at = rng.randint(0, len(out))
        out[at : at + rng.randint(0, 1)] = rng.choice(
            (b"", b"\xff", b"1", b'"', b"[", b"}", b" ", b"/**/", b"NaN", b"0")
        )
    return bytes(out)
