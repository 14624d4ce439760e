"""Verdict programs beside the decoder of single messages: the same first finding, at the same path and byte."""

import random
import re
from collections import Counter

import pytest

from support.payloads import avro_messages
from support.payloads.verdicts import FITS, Verdict, verdicts
from topicschema import payload
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats.avro import AvroSchema
from topicschema.payload.columnar.avro import ProgramValidator, compile_program
from topicschema.payload.finding import PayloadFinding

_UNRESOLVABLE = {"CANNOT_READ", "NULL_NOT_ALLOWED", "MISSING_DEFAULT", "UNKNOWN_SYMBOL"}
"""Reasons that are UNRESOLVABLE to the decoder."""


def first(findings: tuple[PayloadFinding, ...]) -> Verdict:
    if not findings:
        return FITS
    return findings[0].rule, re.sub(r"\{\d+\}", "{}", re.sub(r"\[\d+\]", "[]", findings[0].path)), findings[0].offset


def as_decoder(verdict: Verdict, theirs: str) -> Verdict:
    """Return a program's verdict as the decoder reports it."""
    reason = "UNRESOLVABLE" if verdict[0] in _UNRESOLVABLE else verdict[0]
    if reason == "SKIPPED_CORRUPT":
        assert theirs not in {"", "UNRESOLVABLE"}
        reason = theirs
    return "ENUM_INDEX" if reason == "SKIPPED_SYMBOL" else reason, *verdict[1:]


def disagreements(reader: AvroSchema, writer: AvroSchema, messages: list[bytes], reasons: Counter[str]) -> list[object]:
    ours = verdicts(ProgramValidator(compile_program(reader, writer)), *messages)
    reasons.update(verdict[0] for verdict in ours)
    try:
        decoder = payload.reader(reader, writer)
    except InvalidSchemaError:
        return [verdict for verdict in ours if verdict != ("CANNOT_READ", "$", 0)]
    theirs = [first(decoder.read(content)[1]) for content in messages]
    return [
        (reader.info.schema, writer.info.schema, content, verdict, expected)
        for content, verdict, expected in zip(messages, ours, theirs, strict=True)
        if as_decoder(verdict, expected[0]) != expected
    ]


@pytest.mark.parametrize("seed", range(4))
def test_a_program_has_the_decoder_s_findings_at_the_same_path_and_byte(seed: int) -> None:
    reasons: Counter[str] = Counter()
    wrong: list[object] = []
    for number in range(500):
        rng = random.Random(seed * 1_000_000 + number)  # noqa: S311  # seeds, not secrets
        pair = avro_messages.pair(rng)
        if pair is not None:
            wrong += disagreements(*pair, avro_messages.messages(rng, pair[1].root, 20), reasons)
    assert wrong == []
    assert reasons.keys() >= {"", "CANNOT_READ", "NULL_NOT_ALLOWED", "MISSING_DEFAULT", "TRUNCATED", "TRAILING_BYTES"}
    assert reasons.keys() >= {
        "UNION_INDEX",
        "ENUM_INDEX",
        "NEGATIVE_LENGTH",
        "BLOCK_SIZE",
        "INVALID_UTF8",
        "INVALID_BOOLEAN",
    }
