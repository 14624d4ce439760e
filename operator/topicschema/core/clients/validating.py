"""The broker's validation of a client's schema at upload, as far as it goes: it leaves defaults unread.

Source: SchemaDataValidator and those it calls, with Jackson's part in them; a pair's parts are asked one by one, key
first. What is compared with a topic's versions afterwards stands in `comparing`.
"""

from collections.abc import Iterator

from topicschema.core import broker_errors, formats, jackson
from topicschema.core.broker_errors import BrokerError
from topicschema.core.clients.comparing import finding
from topicschema.core.clients.model import RefusedError
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats import key_value
from topicschema.core.jackson import Reading
from topicschema.core.schemas import PulsarLine, SchemaInfo, SchemaType

_TAKEN_UNREAD = (SchemaType.NONE, SchemaType.BYTES)


def validate(sent: SchemaInfo, line: PulsarLine) -> None:
    """Nothing where an upload of `sent` is valid, RefusedError where it is not."""
    for part, invalid in _invalid(sent, line):
        error, message = broker_errors.of_invalid(sent.type, invalid.rule)
        if part.type is SchemaType.JSON and broker_errors.asks_jackson(part, line):
            reading = jackson.reading(part.schema)
            if reading is Reading.JSON_SCHEMA:
                continue
            error = BrokerError.NO_ANSWER if reading is Reading.FAILURE else error
        raise RefusedError(error, "" if error is BrokerError.NO_ANSWER else message, finding(invalid)) from None


def _invalid(sent: SchemaInfo, line: PulsarLine) -> Iterator[tuple[SchemaInfo, InvalidSchemaError]]:
    """What cannot be read, and why: `sent` itself, or the parts of a pair that can be taken apart."""
    if sent.type is not SchemaType.KEY_VALUE:
        yield from _unread(sent, line)
        return
    try:
        pair = key_value.decode(sent)
    except InvalidSchemaError as invalid:
        yield sent, invalid
        return
    for side, part in pair.parts:
        for info, reason in _unread(part.info, line):
            yield info, key_value.within(side, reason)


def _unread(info: SchemaInfo, line: PulsarLine) -> Iterator[tuple[SchemaInfo, InvalidSchemaError]]:
    if info.type in _TAKEN_UNREAD:
        return
    try:
        formats.parse(info, line, validate_defaults=False)
    except InvalidSchemaError as invalid:
        yield info, invalid
