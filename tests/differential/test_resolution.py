"""Readers and writers on which Avro's own validator fails; `test_pairs` has all the rest."""

import json
import random
from collections import Counter

import pytest

from differential import oracle
from support.schemas import avro_circles
from support.schemas.avro import unreadable
from topicschema.core.errors import InvalidSchemaError

pytestmark = pytest.mark.differential

CIRCLES = 400  # an overflowing stack takes its time
SEED = 20_240


def reads(reader: str, writer: str) -> bool:
    try:
        return not unreadable(json.loads(reader), json.loads(writer))
    except InvalidSchemaError:
        return False


def test_we_say_no_where_avro_breaks_down_on_records_that_come_back_to_themselves() -> None:
    pairs = [avro_circles.pair(random.Random(SEED + number)) for number in range(CIRCLES)]  # noqa: S311  # as above
    answers = oracle.query({"op": "canRead", "reader": reader, "writer": writer} for reader, writer in pairs)
    wrong = [pair for pair, answer in zip(pairs, answers, strict=True) if reads(*pair) != (answer["verdict"] is True)]
    assert wrong == []
    met = Counter(str(answer["verdict"]) for answer in answers)
    assert met["error:NullPointerException"] > 0
    assert met["error:StackOverflowError"] > 0
    assert met["True"] > CIRCLES // 5
