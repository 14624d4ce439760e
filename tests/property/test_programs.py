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
from topicschema.payload.finding import Finding

_TOLD_APART = {"CANNOT_READ", "NULL_NOT_ALLOWED", "MISSING_DEFAULT", "UNKNOWN_SYMBOL"}
"""What the decoder calls UNRESOLVABLE."""


def first(found: tuple[Finding, ...]) -> Verdict:
    if not found:
        return FITS
    return found[0].rule, re.sub(r"\{\d+\}", "{}", re.sub(r"\[\d+\]", "[]", found[0].path)), found[0].offset


def as_decoder(told: Verdict, theirs: str) -> Verdict:
    """What a program says, in the decoder's words."""
    reason = "UNRESOLVABLE" if told[0] in _TOLD_APART else told[0]
    if reason == "SKIPPED_CORRUPT":
        assert theirs not in {"", "UNRESOLVABLE"}
        reason = theirs
    return "ENUM_INDEX" if reason == "SKIPPED_SYMBOL" else reason, *told[1:]


def disagreements(reader: AvroSchema, writer: AvroSchema, messages: list[bytes], met: Counter[str]) -> list[object]:
    ours = verdicts(ProgramValidator(compile_program(reader, writer)), *messages)
    met.update(told[0] for told in ours)
    try:
        decoder = payload.reader(reader, writer)
    except InvalidSchemaError:
        return [told for told in ours if told != ("CANNOT_READ", "$", 0)]
    theirs = [first(decoder.read(content)[1]) for content in messages]
    return [
        (reader.info.schema, writer.info.schema, content, told, wanted)
        for content, told, wanted in zip(messages, ours, theirs, strict=True)
        if as_decoder(told, wanted[0]) != wanted
    ]


@pytest.mark.parametrize("seed", range(4))
def test_a_program_finds_what_the_decoder_finds_at_the_same_path_and_byte(seed: int) -> None:
    met: Counter[str] = Counter()
    wrong: list[object] = []
    for number in range(500):
        rng = random.Random(seed * 1_000_000 + number)  # noqa: S311  # seeds, not secrets
        pair = avro_messages.pair(rng)
        if pair is not None:
            wrong += disagreements(*pair, avro_messages.messages(rng, pair[1].root, 20), met)
    assert wrong == []
    assert met.keys() >= {"", "CANNOT_READ", "NULL_NOT_ALLOWED", "MISSING_DEFAULT", "TRUNCATED", "TRAILING_BYTES"}
    assert met.keys() >= {
        "UNION_INDEX",
        "ENUM_INDEX",
        "NEGATIVE_LENGTH",
        "BLOCK_SIZE",
        "INVALID_UTF8",
        "INVALID_BOOLEAN",
    }
