"""KEY_VALUE schemas over REST: `{"key": ..., "value": ...}`, each `""` or a JSON value, and the bytes stored for it.

Source: Pulsar's SchemaUtils.convertKeyValueDataStringToSchemaInfoSchema (Pulsar 4.0). The response of a broker's GET is
not built here: another reader makes it, which changes the spelling of some numbers (1.00 to 1.0).
"""

from typing import Any

from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats.key_value import gson, payload
from topicschema.core.formats.key_value.model import Side


def payload_of(text: str) -> bytes:
    """Return the bytes that a broker stores when `text` is uploaded as a KEY_VALUE schema.

    Each part is written again without space. The order of members and the spelling of numbers stay. Raises
    InvalidSchemaError SYNTAX with line and column, or KEY_VALUE_FORM. `parse` validates the parts.
    """
    form = gson.read(text.encode("utf-8", "replace").decode())
    if not isinstance(form, dict):
        message = 'an object with the members "key" and "value" is expected'
        raise InvalidSchemaError("KEY_VALUE_FORM", message)
    return payload.join(_part(form, Side.KEY), _part(form, Side.VALUE))


def text_of(stored: bytes) -> str:
    """Return the REST form whose upload stores the same two schemas. Raises InvalidSchemaError if there is none.

    The rule is KEY_VALUE_FORM for a part that is not JSON, or that has space or comments. Clients that do not use REST
    may register such a part.
    """
    key, value = payload.split(stored)
    return f'{{"key":{_form(key, Side.KEY)},"value":{_form(value, Side.VALUE)}}}'


def compacted(schema: str) -> bytes:
    """Return a part's schema as it is stored when it is uploaded inside a pair. Empty stays empty."""
    return gson.compact(gson.read(schema)).encode("utf-8", "replace") if schema else b""


def _part(form: dict[str, Any], side: Side) -> bytes:
    if side.value not in form:
        raise InvalidSchemaError("KEY_VALUE_FORM", f'the member "{side}" is missing; a primitive\'s schema is ""')
    part = form[side.value]
    return b"" if part == "" else gson.compact(part).encode("utf-8", "replace")


def _form(schema: bytes, side: Side) -> str:
    if not schema:
        return '""'
    try:
        text = schema.decode()
        if text != '""' and gson.compact(gson.read(text)) == text:
            return text
    except (UnicodeDecodeError, InvalidSchemaError):
        pass
    message = f"the {side}'s schema was not uploaded over REST and cannot be: it would be stored in another spelling"
    raise InvalidSchemaError("KEY_VALUE_FORM", message)
