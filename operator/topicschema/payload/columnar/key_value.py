"""Judges a KEY_VALUE: its key and its value by validators of their own. payload/key_value has the rules."""

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np

from topicschema.core.formats.key_value import Encoding, Side
from topicschema.payload.columnar.base import BaseValidator, Reasons, VerdictBuilder
from topicschema.payload.columnar.column import Column, Flags, Offsets
from topicschema.payload.columnar.primitives import integers
from topicschema.payload.columnar.verdicts import Loss, Validator, Verdicts

_LENGTH: Final = 4
_NULL: Final = -1
REASONS: Final[Reasons] = {"TRUNCATED": False, "NEGATIVE_LENGTH": False, "TRAILING_BYTES": True}


class KeyValueValidator(BaseValidator):
    """Judges INLINE or SEPARATED pairs; a part that is null fits. The validators of the parts must take null."""

    def __init__(self, key: Validator, value: Validator, encoding: Encoding) -> None:
        self._parts = {Side.KEY: key, Side.VALUE: value}
        self._is_inline = encoding is Encoding.INLINE
        super().__init__(_joined(REASONS if self._is_inline else {}, self._parts))

    def validate(self, payloads: Column, keys: Column | None = None) -> Verdicts:
        """The verdicts; what is wrong with the key comes first. Without `keys` those of SEPARATED pairs are null."""
        builder = VerdictBuilder(len(payloads))
        lost: dict[int, int] = {}
        if self._is_inline:
            self._judge_inline(payloads, builder, lost)
        else:
            rows = np.arange(len(payloads))
            if keys is not None:
                self._judge_part(Side.KEY, keys, rows, np.zeros_like(rows), (builder, lost))
            self._judge_part(Side.VALUE, payloads, rows, np.zeros_like(rows), (builder, lost))
        counted = np.zeros(len(self.losses), np.int64)
        for index, messages in lost.items():
            counted[index] = messages
        return builder.verdicts(counted)

    def _judge_inline(self, payloads: Column, builder: VerdictBuilder, lost: dict[int, int]) -> None:
        begins = payloads.starts
        keys = self._cut(Side.KEY, payloads, _Pieces(np.arange(len(payloads)), begins, begins, begins < 0), builder)
        values = self._cut(Side.VALUE, payloads, keys, builder)
        keys = keys.only(builder.fits(keys.rows))
        for side, pieces in ((Side.KEY, keys), (Side.VALUE, values)):
            column = Column(payloads.values, pieces.starts, pieces.ends, pieces.nulls)
            self._judge_part(side, column, pieces.rows, pieces.starts - begins[pieces.rows], (builder, lost))
        over = values.only(builder.fits(values.rows) & (values.ends < payloads.ends[values.rows]))
        builder.put(over.rows, self._reasons.number("TRAILING_BYTES"), 0, over.ends - begins[over.rows])

    def _cut(self, side: Side, payloads: Column, before: "_Pieces", builder: VerdictBuilder) -> "_Pieces":
        """The parts that come after those before; what cannot be cut is put on the builder."""
        path = self._paths.number(f"$.{side}")
        truncated, negative = self._reasons.number("TRUNCATED"), self._reasons.number("NEGATIVE_LENGTH")
        begins = payloads.starts

        short = payloads.ends[before.rows] - before.ends < _LENGTH
        builder.put(before.rows[short], truncated, path, before.ends[short] - begins[before.rows[short]])
        before = before.only(~short)

        rows, starts = before.rows, before.ends + _LENGTH
        lengths = integers(payloads, before.ends, _LENGTH)
        below = lengths < _NULL
        builder.put(rows[below], negative, path, before.ends[below] - begins[rows[below]])
        beyond = payloads.ends[rows] - starts < lengths
        builder.put(rows[beyond], truncated, path, starts[beyond] - begins[rows[beyond]])
        return _Pieces(rows, starts, starts + np.maximum(lengths, 0), lengths == _NULL).only(~below & ~beyond)

    def _judge_part(
        self, side: Side, column: Column, rows: Offsets, begins: Offsets, told: tuple[VerdictBuilder, dict[int, int]]
    ) -> None:
        """Judges the parts of the messages in `rows`, which begin at those bytes of their payloads."""
        builder, lost = told
        validator = self._parts[side]
        verdicts = validator.validate(column)
        wrong = np.flatnonzero((verdicts.reasons != 0) & builder.fits(rows))
        reasons = np.array([self._reasons.number(each) for each in validator.reasons], np.int16)
        paths = np.array([self._paths.number(f"$.{side}{each[1:]}") for each in validator.paths], np.int32)
        builder.put(
            rows[wrong],
            reasons[verdicts.reasons[wrong]],
            paths[verdicts.paths[wrong]],
            verdicts.offsets[wrong] + begins[wrong],
        )
        for (kind, path), messages in zip(validator.losses, verdicts.losses.tolist(), strict=True):
            index = self._losses.number(Loss(kind, f"$.{side}{path[1:]}"))
            lost[index] = lost.get(index, 0) + messages


class _Pieces(NamedTuple):
    """A part of some messages: which, where it begins and ends in the column's bytes, and where it is null."""

    rows: Offsets
    starts: Offsets
    ends: Offsets
    nulls: Flags

    def only(self, kept: Flags) -> "_Pieces":
        """Those of the pieces."""
        return _Pieces(self.rows[kept], self.starts[kept], self.ends[kept], self.nulls[kept])


def _joined(own: Reasons, parts: Mapping[Side, Validator]) -> Reasons:
    """All reasons; Java reads on over one where it does so wherever that comes from."""
    found = dict(own)
    for validator in parts.values():
        for reason in validator.reasons[1:]:
            found[reason] = found.get(reason, True) and reason in validator.tolerated
    return found
