"""Validator of JSON payloads. See `codegen` and payload/json for the rules."""

import json
import re
from collections import Counter
from collections.abc import Callable
from typing import Any, Final, NoReturn

from topicschema.core.formats import json_text
from topicschema.core.formats.avro.graph.trampoline import run
from topicschema.core.formats.avro.model import Node
from topicschema.payload.columnar.base import BaseValidator, FirstFinding, VerdictBuilder, in_schema
from topicschema.payload.columnar.column import Column
from topicschema.payload.columnar.json import names, writer_types
from topicschema.payload.columnar.json.codegen import FIELD_DROPPED, checker
from topicschema.payload.columnar.json.writer_types import Nodes
from topicschema.payload.columnar.reasons import Reasons
from topicschema.payload.columnar.verdicts import Loss, Verdicts
from topicschema.payload.finding import Unreadable
from topicschema.payload.json import document, java_classes, leaves
from topicschema.payload.json.walk import Misfit, Walk
from topicschema.payload.path import Path, in_text, shown, steps_of

REASONS: Final[Reasons] = {
    **dict.fromkeys(("INVALID_UTF8", "SYNTAX", "TOO_DEEP", "TRAILING_BYTES", "WRONG_TYPE", "OUT_OF_RANGE"), False),
    **dict.fromkeys(("UNKNOWN_SYMBOL", "ENUM_AS_NUMBER", "INVALID_BASE64", "NO_BRANCH", "DUPLICATE_FIELD"), False),
    "INVALID_FOR_CLASS": False,
    **dict.fromkeys(("MISSING_FIELD", "UNEXPECTED_NULL", "UNKNOWN_FIELD"), True),
}
_SURE: Final = 1_000  # characters, which cannot exceed any limit of the reader
_LONG_NUMBER: Final = re.compile(r"[0-9][0-9.eE+-]{999}")


def _no_number(word: str) -> NoReturn:
    raise ValueError(word)


_DECODER: Final = json.JSONDecoder(parse_constant=_no_number)
_scan: Final[Callable[[str, int], tuple[Any, int]]] = _DECODER.scan_once  # type: ignore[attr-defined]  # its own reader


class JsonValidator(BaseValidator):
    """Validator of messages that were written as one of `writer`'s types."""

    def __init__(self, reader: Node, writer: Nodes) -> None:
        super().__init__(REASONS)
        self._reader = reader
        self._writer = writer
        self._lost: list[Loss] = []
        self._check = checker(reader, writer, self._lost.append)

    def _verdicts(self, payloads: Column) -> Verdicts:
        builder = VerdictBuilder(len(payloads))
        counts = Counter[int]()
        content = payloads.values.data
        lost = self._lost
        places = zip(payloads.starts.tolist(), payloads.ends.tolist(), names.most(payloads).tolist(), strict=True)
        for row, (start, end, most_names) in enumerate(places):
            piece = content[start:end]
            if not self._fits(piece, most_names):
                self._note(builder, row, self._examine(piece.tobytes()))
            if lost:
                counts.update({self._losses.number(loss) for loss in lost})
                lost.clear()
        return builder.verdicts(self._counted(counts))

    def _fits(self, piece: memoryview, most_names: int) -> bool:
        """Return True if the payload surely fits. Its losses are then recorded."""
        try:
            text = str(piece, "utf-8")
            value, last = _scan(text, 0)
        except (ValueError, RecursionError, StopIteration):
            return False
        if last < len(text) and text[last:].strip(" \t\r\n"):
            return False
        if len(text) > _SURE and (_LONG_NUMBER.search(text) or not json_text.is_within_bounds(text, value)):
            return False
        members = self._check(value)
        if members >= 0 and (members == most_names or not document.repeats_a_name(text)):
            return True
        self._lost.clear()
        return False

    def _examine(self, payload: bytes) -> FirstFinding | None:
        """Return the first finding of the walk that is no loss."""
        try:
            content = document.read(payload)
        except Unreadable as stop:
            return FirstFinding.first([stop.finding])
        first = _First(self._writer)
        try:
            walk = Walk(leaves.read, first.report, refusal=java_classes.refusal)
            run(walk.whole(self._reader, content.value))
        except _FirstFindingError:
            offset = content.offsets([in_text(first.path)])[0]
            self._lost.clear()
            return FirstFinding(first.reason, in_schema(shown(first.path)), offset)
        self._lost += first.lost
        return None


class _FirstFindingError(Exception):
    """Signal for the first finding."""


class _First:
    """The first misfit that is no loss, and the losses before it."""

    def __init__(self, writer: Nodes) -> None:
        self._writer = writer
        self.lost: list[Loss] = []
        self.reason = ""
        self.path: Path | None = None

    def report(self, misfit: Misfit, path: Path | None) -> None:
        """Record a loss. Raises _FirstFindingError for any other misfit."""
        if misfit.names:
            known = writer_types.names(writer_types.within(self._writer, steps_of(path)))
            if misfit.names <= known:
                place = in_schema(shown(path))
                self.lost += [Loss(FIELD_DROPPED, f"{place}.{name}") for name in misfit.names]
                return
        self.reason, self.path = misfit.rule, path
        raise _FirstFindingError
