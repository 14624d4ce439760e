"""Verdicts, findings and refusals as texts."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from topicschema.core.errors import InvalidPayloadError, InvalidSchemaError
from topicschema.core.schemas import Schema
from topicschema.payload import validate
from topicschema.payload.columnar.column import Column
from topicschema.payload.columnar.reasons import REASONS
from topicschema.payload.columnar.verdicts import Validator

Verdict = tuple[str, str, int]
"""Reason, path and byte."""
FITS: Verdict = ("", "$", -1)


def verdicts(
    validator: Validator, *payloads: bytes | None, keys: Sequence[bytes | None] | None = None
) -> list[Verdict]:
    columns = validator.validate(Column.of(payloads), None if keys is None else Column.of(keys))
    rows = zip(columns.reasons.tolist(), columns.paths.tolist(), columns.offsets.tolist(), strict=True)
    return [(REASONS[reason], validator.paths[path], offset) for reason, path, offset in rows]


def reasons(validator: Validator, *payloads: bytes | None) -> list[str]:
    return [reason for reason, *_ in verdicts(validator, *payloads)]


def losses(validator: Validator, *payloads: bytes | None) -> dict[tuple[str, str], int]:
    """Return the number of messages with each loss."""
    counts = validator.validate(Column.of(payloads)).losses.tolist()
    return {tuple(loss): count for loss, count in zip(validator.losses, counts, strict=True) if count}


def findings(schema: Schema, content: bytes | str | None, key: bytes | None = None) -> list[tuple[str, str, int, bool]]:
    """Return rule, path, byte and tolerance of each finding of a payload. A text is hexadecimal."""
    payload_bytes = bytes.fromhex(content) if isinstance(content, str) else content
    return [(each.rule, each.path, each.offset, each.is_tolerated) for each in validate(schema, payload_bytes, key)]


def refusal(call: Callable[..., object], *arguments: Any) -> tuple[str, str, int | None]:
    """Return rule, path and byte of the error that the call raises. An invalid schema has neither path nor byte."""
    try:
        call(*arguments)
    except InvalidPayloadError as error:
        return error.rule, error.path, error.offset
    except InvalidSchemaError as error:
        return error.rule, "", None
    pytest.fail("nothing is refused")
