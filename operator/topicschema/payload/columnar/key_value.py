"""Validator of KEY_VALUE, with a validator each for key and value. See payload/key_value for the rules."""

from collections import Counter
from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np

from topicschema.core.formats.key_value import Encoding, Side
from topicschema.payload.columnar import reasons as why
from topicschema.payload.columnar.base import BaseValidator, VerdictBuilder
from topicschema.payload.columnar.column import Column, Flags, Offsets
from topicschema.payload.columnar.primitives import integers
from topicschema.payload.columnar.reasons import Reasons
from topicschema.payload.columnar.verdicts import Loss, Validator, Verdicts

_LENGTH: Final = 4
_NULL: Final = -1
REASONS: Final[Reasons] = {"TRUNCATED": False, "NEGATIVE_LENGTH": False, "TRAILING_BYTES": True}


class KeyValueValidator(BaseValidator):
    """Validator of INLINE or SEPARATED pairs. A null part fits. The validators of the parts must accept null."""

    def __init__(self, key: Validator, value: Validator, encoding: Encoding) -> None:
        self._parts = {Side.KEY: key, Side.VALUE: value}
        self._is_inline = encoding is Encoding.INLINE
        super().__init__(_joined(REASONS if self._is_inline else {}, self._parts))

    def validate(self, payloads: Column, keys: Column | None = None) -> Verdicts:
        """Return the verdicts.

        The key's fault precedes the value's. Without `keys` those of SEPARATED pairs are null.
        """
        if self._is_inline:
            return super().validate(payloads)
        builder, lost = VerdictBuilder(len(payloads)), Counter[int]()
        rows = np.arange(len(payloads))
        if keys is not None:
            self._judge_part(Side.KEY, keys, rows, np.zeros_like(rows), (builder, lost))
        self._judge_part(Side.VALUE, payloads, rows, np.zeros_like(rows), (builder, lost))
        return builder.verdicts(self._counted(lost))

    def _verdicts(self, payloads: Column) -> Verdicts:
        builder, lost = VerdictBuilder(len(payloads)), Counter[int]()
        begins = payloads.starts
        keys = self._cut(Side.KEY, payloads, _Pieces(np.arange(len(payloads)), begins, begins, begins < 0), builder)
        values = self._cut(Side.VALUE, payloads, keys, builder)
        keys = keys.only(builder.fits(keys.rows))
        for side, pieces in ((Side.KEY, keys), (Side.VALUE, values)):
            column = Column(payloads.values, pieces.starts, pieces.ends, pieces.nulls)
            self._judge_part(side, column, pieces.rows, pieces.starts - begins[pieces.rows], (builder, lost))
        over = values.only(builder.fits(values.rows) & (values.ends < payloads.ends[values.rows]))
        builder.put(over.rows, why.TRAILING_BYTES, 0, over.ends - begins[over.rows])
        return builder.verdicts(self._counted(lost))

    def _cut(self, side: Side, payloads: Column, before: "_Pieces", builder: VerdictBuilder) -> "_Pieces":
        """Return the parts after those before. Parts that cannot be separated are set in the builder."""
        path = self._paths.number(f"$.{side}")
        begins = payloads.starts

        short = payloads.ends[before.rows] - before.ends < _LENGTH
        builder.put(before.rows[short], why.TRUNCATED, path, before.ends[short] - begins[before.rows[short]])
        before = before.only(~short)

        rows, starts = before.rows, before.ends + _LENGTH
        lengths = integers(payloads, before.ends, _LENGTH)
        below = lengths < _NULL
        builder.put(rows[below], why.NEGATIVE_LENGTH, path, before.ends[below] - begins[rows[below]])
        beyond = payloads.ends[rows] - starts < lengths
        builder.put(rows[beyond], why.TRUNCATED, path, starts[beyond] - begins[rows[beyond]])
        return _Pieces(rows, starts, starts + np.maximum(lengths, 0), lengths == _NULL).only(~below & ~beyond)

    def _judge_part(
        self, side: Side, column: Column, rows: Offsets, begins: Offsets, output: tuple[VerdictBuilder, Counter[int]]
    ) -> None:
        """Validate the parts of the messages in `rows`, which begin at those bytes of their payloads."""
        builder, lost = output
        validator = self._parts[side]
        verdicts = validator.validate(column)
        wrong = np.flatnonzero((verdicts.reasons != 0) & builder.fits(rows))
        paths = np.array([self._paths.number(f"$.{side}{each[1:]}") for each in validator.paths], np.int32)
        builder.put(
            rows[wrong],
            verdicts.reasons[wrong],
            paths[verdicts.paths[wrong]],
            verdicts.offsets[wrong] + begins[wrong],
        )
        for (kind, path), messages in zip(validator.losses, verdicts.losses.tolist(), strict=True):
            lost[self._losses.number(Loss(kind, f"$.{side}{path[1:]}"))] += messages


class _Pieces(NamedTuple):
    """A part of some messages: their rows, its start and end in the column's bytes, and its nulls."""

    rows: Offsets
    starts: Offsets
    ends: Offsets
    nulls: Flags

    def only(self, flags: Flags) -> "_Pieces":
        """Return some of the pieces."""
        return _Pieces(self.rows[flags], self.starts[flags], self.ends[flags], self.nulls[flags])


def _joined(own: Reasons, parts: Mapping[Side, Validator]) -> Reasons:
    """Return all reasons. One is tolerated if Java tolerates it in every part."""
    reasons = dict(own)
    for validator in parts.values():
        for reason, is_tolerated in validator.reasons.items():
            reasons[reason] = reasons.get(reason, True) and is_tolerated
    return reasons
