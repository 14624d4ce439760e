"""Verdict programs beside Java's GenericDatumReader: what fits is read, what does not fit is not."""

import base64
import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from differential import oracle, seeds
from support import sizes
from support.payloads import avro_messages
from support.schemas import avro_features
from topicschema import payload
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats.avro import AvroSchema
from topicschema.payload.columnar.avro import ProgramValidator, compile_program
from topicschema.payload.columnar.column import Column
from topicschema.payload.columnar.reasons import REASONS

pytestmark = pytest.mark.differential

PAIRS, MESSAGES = sizes.sized(250, 10_000), sizes.sized(50, 100)
"""Pairs of schemas of each seed, and messages of each pair."""
ORACLE = oracle.AVRO.with_name("ReadingOracle.java")
BATCH = 500
STRICTER = {"OUT_OF_RANGE": 0.025, "SKIPPED_CORRUPT": 0.01, "TOO_MANY_VALUES": 0.002, "TOO_DEEP": 0.002}
"""Reasons that Java does not share: it cuts numbers, does not check or goes astray, and has no such limits.

So it is not compared in these, and they may be no more than that share of all messages, and those of one pair.
"""
READ_OVER = {"INVALID_UTF8", "INVALID_BOOLEAN", "BLOCK_SIZE", "SKIPPED_SYMBOL"}
"""Reasons over which Java reads on, and fails later in most: broken bytes are mostly broken twice."""
ENDLESS = "endless"
"""Java skips a block by its claimed size, and never ends if that leads back."""
FEATURES = {
    **dict.fromkeys(("enum default", "fixed", "type alias", "field alias", "field default", "recursion"), 0.05),
    **dict.fromkeys(("promotion", "union of records", "decimal", "uuid", "date"), 0.02),
    "map of arrays": 0.004,
}
"""The least share of the pairs with each of these."""


@dataclass(frozen=True, slots=True)
class Case:
    """Two schemas, messages, and a program's reasons."""

    reader: AvroSchema
    writer: AvroSchema
    messages: list[bytes]
    reasons: list[str]
    skipped: list[str]
    """The reasons of the messages that Java is not compared with."""
    decoded: list[str | None]
    """The decoder's reasons for no value, of all messages, those with a reason of `skipped` last."""


def cases(seed: str) -> Iterator[Case]:
    number = 0
    count = 0
    while count < PAIRS:
        rng = random.Random(f"{seed} {number}")  # noqa: S311  # seeds, not secrets
        number += 1
        pair = avro_messages.pair(rng)
        messages = avro_messages.messages(rng, pair[1].root, MESSAGES) if pair and not is_beyond_brokers(*pair) else []
        if pair and messages:
            count += 1
            yield judged(*pair, messages)


def is_beyond_brokers(reader: AvroSchema, writer: AvroSchema) -> bool:
    """Return True if brokers fail on the two for their nested records: we refuse all messages, and Java some."""
    try:
        payload.reader(reader, writer)
    except InvalidSchemaError as error:
        return error.rule in {"INFINITE_RECORD", "RECURSIVE_RECORD_CRASHES_AVRO"}
    return False


def judged(reader: AvroSchema, writer: AvroSchema, messages: list[bytes]) -> Case:
    validator = ProgramValidator(compile_program(reader, writer))
    reasons = [REASONS[reason] for reason in validator.validate(Column.of(messages)).reasons]
    order = sorted(range(len(messages)), key=lambda index: reasons[index] in STRICTER)
    messages, reasons = [messages[index] for index in order], [reasons[index] for index in order]
    compared = [reason for reason in reasons if reason not in STRICTER]
    return Case(reader, writer, messages, compared, reasons[len(compared) :], decoded(reader, writer, messages))


def decoded(reader: AvroSchema, writer: AvroSchema, messages: list[bytes]) -> list[str | None]:
    try:
        decoder = payload.reader(reader, writer)
    except InvalidSchemaError as error:
        return [error.rule for _ in messages]
    findings = (decoder.read(each)[1] for each in messages)
    return [next((each.rule for each in one if not each.is_tolerated), None) for one in findings]


def request_of(case: Case) -> dict[str, object]:
    return {
        "reader": case.reader.info.schema.decode(),
        "writer": case.writer.info.schema.decode(),
        "payloads": [base64.b64encode(each).decode() for each in case.messages],
    }


@pytest.mark.timeout(0 if sizes.IS_FULL else 300)
@pytest.mark.parametrize("seed", seeds.SEEDS.values(), ids=seeds.SEEDS)
def test_java_reads_what_fits_and_fails_on_the_rest(seed: str) -> None:
    met: Counter[str] = Counter()
    wrong: list[object] = []
    waiting: list[Case] = []
    read_on: Counter[str] = Counter()
    features: Counter[str] = Counter()
    skipped: Counter[str] = Counter()
    for number, case in enumerate(cases(seed), 1):
        waiting.append(case)
        skipped.update(case.skipped)
        features.update(avro_features.of(*(each.info.schema.decode() for each in (case.reader, case.writer))))
        if len(waiting) == BATCH or number == PAIRS:
            wrong += disagreements(waiting, met, read_on)
            waiting = []
    assert wrong == []
    summary = (
        f"{met.total():,} messages of {PAIRS:,} pairs: {dict(met)}, skipped {dict(skipped)}, read on {dict(read_on)}"
    )
    print(f"seed {seed}: {summary}")  # noqa: T201  # with -s
    made = met.total() + skipped.total()
    assert {
        reason: skipped[reason] for reason, share in STRICTER.items() if skipped[reason] > share * made + MESSAGES
    } == {}
    assert met.keys() >= {"", "CANNOT_READ", "NULL_NOT_ALLOWED", "MISSING_DEFAULT", "TRUNCATED", "TRAILING_BYTES"}
    assert met.keys() >= {"UNION_INDEX", "ENUM_INDEX", "NEGATIVE_LENGTH", "UNKNOWN_SYMBOL"}
    assert {name: features[name] for name, share in FEATURES.items() if features[name] < share * PAIRS} == {}
    for reason in READ_OVER:
        assert (read_on[reason] + 1) * 8 > met[reason], reason


def disagreements(batch: list[Case], met: Counter[str], read_on: Counter[str]) -> list[object]:
    answers = oracle.query(map(request_of, batch), ORACLE, oracle.AVRO.parent / "pom.xml")
    wrong: list[object] = []
    for case, answer in zip(batch, answers, strict=True):
        met.update(case.reasons)
        wrong += [
            (case.reader.info.schema, case.writer.info.schema, content, f"decoder: {rule}", read)
            for content, rule, reason, read in zip(
                case.messages, case.decoded, (*case.reasons, *case.skipped), answer["read"], strict=True
            )
            if (rule is None and read != "y")
            or (rule is not None and read == "y" and not is_stricter(rule, reason, case))
        ]
        for content, reason, read in zip(case.messages, case.reasons, answer["read"], strict=False):
            read_on[ENDLESS] += read == "e"
            if reason in READ_OVER:
                read_on[reason] += read == "y"
                continue
            if (reason in {"", "TRAILING_BYTES"}) != (read == "y") and not is_new_symbol(reason, case):
                wrong.append((case.reader.info.schema, case.writer.info.schema, content, reason))
    return wrong


def is_stricter(rule: str, reason: str, case: Case) -> bool:
    """Return True if the decoder may refuse what Java reads: a fault over which Java reads may precede another."""
    return reason in {*STRICTER, *READ_OVER} or is_new_symbol(rule, case)


def is_new_symbol(reason: str, case: Case) -> bool:
    return reason == "ENUM_INDEX" and has_more_symbols(case)


def has_more_symbols(case: Case) -> bool:
    """Return True if an enum of the reader may have more symbols: Java accepts an index that only the reader has."""
    reader, writer = (
        [symbols.count(b",") for symbols in re.findall(rb'"symbols": \[([^]]*)\]', schema.info.schema)]
        for schema in (case.reader, case.writer)
    )
    return bool(reader and writer) and max(reader) > min(writer)


def test_java_reads_on_with_what_is_left_of_a_number_that_is_no_length() -> None:
    rows = (
        ('"int"', "ff ff ff ff 7f", "y"),
        ('"long"', "ff ff ff ff ff ff ff ff ff 7f", "y"),
        ('["null", "long"]', "80 80 80 80 10", "y"),
        ('{"type": "enum", "name": "E", "symbols": ["A"]}', "80 80 80 80 10", "y"),
        ('"string"', "ff ff ff ff ff ff ff ff ff 7f", "n"),
        ('{"type": "array", "items": "int"}', "ff ff ff ff ff ff ff ff ff 7f", "n"),
    )
    requests = []
    for kind, content, _ in rows:
        schema = avro_messages.parsed(f'{{"type": "record", "name": "R", "fields": [{{"name": "f", "type": {kind}}}]}}')
        messages = [bytes.fromhex(content)]
        case = judged(schema, schema, messages)
        assert case.skipped == ["OUT_OF_RANGE"]
        requests.append(request_of(case))
    answers = oracle.query(requests, ORACLE, oracle.AVRO.parent / "pom.xml")
    assert [answer["read"] for answer in answers] == [is_read for _, _, is_read in rows]
