"""Words that leave the house: they stand in resources, records, metrics and answers, so that they never change."""

from enum import StrEnum

import pytest

from topicschema.core import clients, verdict
from topicschema.core.broker_errors import BrokerError
from topicschema.core.errors import InvalidPayloadError, InvalidSchemaError, Place, TopicSchemaError, WaitingError
from topicschema.core.formats import has_risks
from topicschema.core.formats.key_value import Encoding, Side
from topicschema.core.history import Origin
from topicschema.core.policy import StrategySource, Strictness
from topicschema.core.reasons import Reason
from topicschema.core.schemas import PulsarVersion, SchemaType
from topicschema.core.severity import Severity
from topicschema.core.strategies import Direction, UpgradeFirst


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (PulsarVersion, "4.0 4.1 4.2 5.0"),
        (Direction, "BACKWARD FORWARD"),
        (UpgradeFirst, "Consumers Producers Any None"),
        (Origin, "Spec Broker Registry"),
        (StrategySource, "Topic Namespace Broker"),
        (Strictness, "Broker Strict"),
        (Severity, "WIRE JSON CODE"),
        (Encoding, "INLINE SEPARATED"),
        (Side, "key value"),
        (verdict.Outcome, "NextVersion EqualVersion Incompatible"),
        (clients.Client, "producer consumer reader"),
        (clients.ConnectOutcome, "UsesVersion RegistersVersion NoVersion Refused"),
        (BrokerError, "IncompatibleSchema UnknownError NoAnswer"),
    ],
)
def test_words_that_others_read_stay(kind: type[StrEnum], words: str) -> None:
    assert " ".join(kind) == words


def test_a_types_name_is_its_member() -> None:
    assert [kind.value for kind in SchemaType] == list(SchemaType.__members__)


def test_an_error_has_its_reason_its_message_and_its_place_in_one_sentence() -> None:
    schema = InvalidSchemaError("SYNTAX", "a value is missing", Place("$.a", 3, 14))
    assert (schema.reason, schema.sentence) == ("InvalidSchema", "SYNTAX at line 3, column 14: a value is missing")
    assert InvalidSchemaError("SYNTAX", "it is empty").sentence == "SYNTAX at $: it is empty"
    read = InvalidPayloadError("TRUNCATED", "it ends", "$.a", 0)
    assert (read.reason, read.sentence) == ("InvalidPayload", "TRUNCATED at $.a, byte 0: it ends")
    assert (
        InvalidPayloadError("WRONG_TYPE", "a text is needed", "$.a").sentence == "WRONG_TYPE at $.a: a text is needed"
    )


def test_a_waiting_error_is_retried_in_a_few_seconds_by_default() -> None:
    waiting: TopicSchemaError = WaitingError(Reason.BROKER_UNAVAILABLE, "the broker is away")
    assert isinstance(waiting, WaitingError)
    assert (waiting.reason, str(waiting), waiting.after) == ("BrokerUnavailable", "the broker is away", 5.0)
    assert WaitingError(Reason.BROKER_UNAVAILABLE, "the broker is away", 60.0).after == 60.0


def test_what_is_nothing_but_its_type_or_cannot_be_judged_has_no_risks() -> None:
    without = {kind for kind in SchemaType if not has_risks(kind)}
    assert without >= {SchemaType.NONE, SchemaType.BYTES, SchemaType.INT32, SchemaType.AUTO_CONSUME}
    assert without.isdisjoint({SchemaType.AVRO, SchemaType.KEY_VALUE, SchemaType.STRING, SchemaType.PROTOBUF_NATIVE})
