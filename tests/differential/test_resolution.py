"""Which reader reads which writer, pair by pair beside Avro 1.11.4's own validator, as the broker asks it."""

import json
import random
from collections import Counter
from collections.abc import Callable

import pytest

import avro_circles
import avro_readings
import avro_schemas
from avro_asking import unreadable
from differential import oracle
from topicschema.core.errors import InvalidSchemaError

pytestmark = pytest.mark.differential

PAIRS = 3000
CIRCLES = 400  # an overflowing stack takes its time
SEED = 20_240


def adversarial(rng: random.Random) -> tuple[str, str]:
    reader, writer = avro_schemas.pair(rng)
    return json.dumps(reader), json.dumps(writer)


def reads(reader: str, writer: str) -> bool:
    try:
        return not unreadable(json.loads(reader), json.loads(writer))
    except InvalidSchemaError:
        return False


@pytest.mark.parametrize("make", [avro_readings.pair, adversarial], ids=["readings", "notation"])
def test_we_say_yes_exactly_where_avro_says_yes(make: Callable[[random.Random], tuple[str, str]]) -> None:
    pairs = [make(random.Random(SEED + number)) for number in range(PAIRS)]  # noqa: S311  # seeds, not secrets
    answers = oracle.ask({"op": "canRead", "reader": reader, "writer": writer} for reader, writer in pairs)
    verdicts = [answer["verdict"] is True for answer in answers]
    wrong = [pair for pair, verdict in zip(pairs, verdicts, strict=True) if reads(*pair) != verdict]
    assert wrong == []
    assert min(Counter(verdicts).values()) > PAIRS // 5  # both answers were asked for often enough to mean something


def test_we_say_no_where_avro_breaks_down_on_records_that_come_back_to_themselves() -> None:
    pairs = [avro_circles.pair(random.Random(SEED + number)) for number in range(CIRCLES)]  # noqa: S311  # as above
    answers = oracle.ask({"op": "canRead", "reader": reader, "writer": writer} for reader, writer in pairs)
    wrong = [pair for pair, answer in zip(pairs, answers, strict=True) if reads(*pair) != (answer["verdict"] is True)]
    assert wrong == []
    met = Counter(str(answer["verdict"]) for answer in answers)
    assert met["error:NullPointerException"] > 0
    assert met["error:StackOverflowError"] > 0
    assert met["True"] > CIRCLES // 5
