"""Verdicts of a validator in words."""

from collections.abc import Sequence

from topicschema.payload.columnar.column import Column
from topicschema.payload.columnar.reasons import REASONS
from topicschema.payload.columnar.verdicts import Validator

Verdict = tuple[str, str, int]
"""Reason, path and byte."""
FITS: Verdict = ("", "$", -1)


def verdicts(
    validator: Validator, *payloads: bytes | None, keys: Sequence[bytes | None] | None = None
) -> list[Verdict]:
    """Return the verdict on each message."""
    columns = validator.validate(Column.of(payloads), None if keys is None else Column.of(keys))
    rows = zip(columns.reasons.tolist(), columns.paths.tolist(), columns.offsets.tolist(), strict=True)
    return [(REASONS[reason], validator.paths[path], offset) for reason, path, offset in rows]


def reasons(validator: Validator, *payloads: bytes | None) -> list[str]:
    """Return the reason of each message."""
    return [reason for reason, *_ in verdicts(validator, *payloads)]


def losses(validator: Validator, *payloads: bytes | None) -> dict[tuple[str, str], int]:
    """Return the number of messages with each loss."""
    counts = validator.validate(Column.of(payloads)).losses.tolist()
    return {tuple(loss): count for loss, count in zip(validator.losses, counts, strict=True) if count}
