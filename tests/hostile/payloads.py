"""Hostile payloads and values for decoding, validating and encoding."""

import struct
from random import Random
from typing import Any, Final

from topicschema.payload import Instant, LocalDateTime, Pair

_VARINTS: Final = (
    *(b"\x00", b"\x01", b"\x02", b"\x03", b"\x7f", b"\x80", b"\xff" * 9 + b"\x01", b"\xff" * 10, b"\x80" * 9 + b"\x01"),
    *(b"\xfe\xff\xff\xff\x0f", b"\xff\xff\xff\xff\x0f", b"\x80\x80\x80\x80\x10"),
    b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01",
)
_LENGTHS: Final = (-1, -2, 0, 1, 5, 2**31 - 1, -(2**31), 2**16)


def payload(rng: Random, size: int) -> bytes:
    """Bytes for any schema: floods, odd lengths, chance."""
    roll = rng.random()
    if roll < 0.3:
        return rng.choice(_VARINTS) * max(1, size // 4)
    if roll < 0.5:
        return b"".join(rng.choices(_VARINTS, k=rng.randint(0, 40)))
    if roll < 0.7:
        body = rng.randbytes(rng.randint(0, 12))
        return struct.pack(">i", rng.choice(_LENGTHS)) + body + struct.pack(">i", rng.choice(_LENGTHS)) + body
    if roll < 0.85:
        return rng.randbytes(rng.choice((0, 1, 2, 4, 7, 8, 9, 12, 16, min(size, 100_000))))
    opening, closing = rng.choice((("[", "]"), ('{"a":', "}"), ('{"self":', "}")))
    depth = min(size // 5, rng.choice((999, 1_001, 200_000)))
    return (opening * depth + "1" + closing * depth).encode()


def value(rng: Random, size: int) -> Any:
    """Return a value for any schema: of the wrong type, too large, too deep, without an end."""
    roll = rng.random()
    if roll < 0.25:
        return _deep(rng, min(max(1, size), 20_000))
    if roll < 0.5:
        return Pair(rng.choice(_ODD), rng.choice(_ODD))
    if roll < 0.6:
        return [rng.choice(_ODD)] * min(max(1, size // 4), 200_000)
    if roll < 0.7:
        return {rng.choice(("a", "f0", "v", 1, None, "\ud800", b"a")): rng.choice(_ODD) for _ in range(3)}
    return rng.choice(_ODD)


def _deep(rng: Random, depth: int) -> Any:
    name = rng.choice(("a", "self", "f0"))
    nested: Any = rng.choice(_ODD)
    for _ in range(depth):
        nested = rng.choice(([nested], {name: nested}))
    return nested


def _endless() -> list[Any]:
    endless: list[Any] = []
    endless.append({"a": endless, "self": endless})
    return endless


_ODD: Final[tuple[Any, ...]] = (
    *(None, True, 0, -1, 2**31, 2**63, -(2**63) - 1, 10**400, 10**5_000, 0.0, -0.0, 1e308, float("nan"), float("inf")),
    *("", "text", "\x00", "\ud800", "\udfff\ud83d", "a" * 100_000, b"", b"\xff", bytes(100_000), bytearray(b"a"), ()),
    *(Instant(2**70, -1), Instant(0, 10**9), LocalDateTime(2**70, 2**70), 1j, object(), [], {}, [None], {"a": None}),
    *({1: 2}, {"a": {"a": {}}}, {None: None}, frozenset(), range(3), type, Ellipsis, _endless()),
)
