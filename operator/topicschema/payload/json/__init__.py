"""JSON payloads by an Avro-defined schema, as Pulsar's JSONSchema writes them: plain JSON, no tagged unions.

A union's value has no wrapper, bytes and fixed are base64, null fields are omitted, NaN and the infinities are texts.
Jackson reads on if a field is missing, unknown or null. Those are tolerated findings.
"""

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from topicschema.core.formats.avro.graph.trampoline import run
from topicschema.core.formats.avro.model import Node
from topicschema.payload import text
from topicschema.payload.codec import refused
from topicschema.payload.finding import MAX_FINDINGS, PayloadFinding
from topicschema.payload.json import document, java_classes, leaves
from topicschema.payload.json.walk import Misfit, Walk
from topicschema.payload.path import Path, in_text, shown

__all__ = ["JsonCodec"]


@dataclass(frozen=True, slots=True)
class JsonCodec:
    """Codec of a JSON schema.

    It reads as a consumer with a class does, or as one with AUTO_CONSUME (`is_generic`), which makes no values of
    Java's classes.
    """

    root: Node
    is_generic: bool = False

    def read(self, payload: bytes, findings: list[PayloadFinding]) -> Any:
        """Return the value. Decimal numbers have the precision of Python's float. Offsets are those of values."""
        content = document.read(payload)
        met = _Met()
        value: Any = None
        with suppress(_EnoughError):
            refusal = None if self.is_generic else java_classes.refusal
            value = run(Walk(leaves.read, met.add, refusal=refusal).whole(self.root, content.value))
        offsets = content.offsets([in_text(path) for _, path in met.misfits])
        findings += [
            PayloadFinding(misfit.rule, misfit.message, shown(path), offset, misfit.is_tolerated)
            for (misfit, path), offset in zip(met.misfits, offsets, strict=True)
        ]
        return value

    def write(self, value: Any) -> bytes:
        """Return the payload, compact, fields in the schema's order. A number's spelling may differ from Java's."""
        walk = Walk(leaves.write, _refuse, refusal=java_classes.refusal, leaves_out_null=True)
        plain = run(walk.whole(self.root, value))
        try:
            written = json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
        except RecursionError:
            raise refused("TOO_DEEP", "the value is nested deeper than a JSON reader goes") from None
        return text.encode(written)


class _EnoughError(Exception):
    """More findings than are reported, while the value is lost already."""


class _Met:
    """Misfits of a value, with their places."""

    def __init__(self) -> None:
        self.misfits: list[tuple[Misfit, Path | None]] = []

    def add(self, misfit: Misfit, path: Path | None) -> None:
        """Add a misfit. A tolerated one is added only below the limit."""
        is_full = len(self.misfits) >= MAX_FINDINGS
        if not is_full or not misfit.is_tolerated:
            self.misfits.append((misfit, path))
        if is_full and not misfit.is_tolerated:
            raise _EnoughError


def _refuse(misfit: Misfit, path: Path | None) -> None:
    raise refused(misfit.rule, misfit.message, shown(path))
