"""The broker's validation of a client's schema at upload, up to the defaults, which it does not read.

Source: SchemaDataValidator and the validators that it calls, with their use of Jackson. The parts of a pair are
validated one by one, key first. `comparing` then compares the schema with a topic's versions.
"""

from collections.abc import Iterator

from topicschema.core import broker_errors, formats, jackson
from topicschema.core.broker_errors import BrokerError
from topicschema.core.clients.comparing import finding
from topicschema.core.clients.model import RefusedError
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats import key_value
from topicschema.core.jackson import TextReading
from topicschema.core.schemas import PulsarVersion, SchemaInfo, SchemaType

_TAKEN_UNREAD = (SchemaType.NONE, SchemaType.BYTES)


def validate(sent: SchemaInfo, pulsar_version: PulsarVersion) -> None:
    """Raise RefusedError if an upload of `sent` is invalid."""
    for part, invalid in _invalid(sent, pulsar_version):
        error, message = broker_errors.of_invalid(sent.type, invalid.rule)
        if part.type is SchemaType.JSON and broker_errors.falls_back_to_jackson(part, pulsar_version):
            reading = jackson.reading(part.schema)
            if reading is TextReading.JSON_SCHEMA:
                continue
            error = BrokerError.NO_ANSWER if reading is TextReading.FAILURE else error
        raise RefusedError(error, "" if error is BrokerError.NO_ANSWER else message, finding(invalid)) from None


def _invalid(sent: SchemaInfo, pulsar_version: PulsarVersion) -> Iterator[tuple[SchemaInfo, InvalidSchemaError]]:
    """Yield what cannot be read, and the error: `sent` itself, or the parts of a pair that can be split."""
    if sent.type is not SchemaType.KEY_VALUE:
        yield from _unread(sent, pulsar_version)
        return
    try:
        pair = key_value.decode(sent)
    except InvalidSchemaError as invalid:
        yield sent, invalid
        return
    for side, part in pair.parts:
        for info, reason in _unread(part.info, pulsar_version):
            yield info, key_value.within(side, reason)


def _unread(info: SchemaInfo, pulsar_version: PulsarVersion) -> Iterator[tuple[SchemaInfo, InvalidSchemaError]]:
    if info.type in _TAKEN_UNREAD:
        return
    try:
        formats.parse(info, pulsar_version, validate_defaults=False)
    except InvalidSchemaError as invalid:
        yield info, invalid
