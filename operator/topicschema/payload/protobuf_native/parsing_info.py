"""PROTOBUF, the type whose schema is Avro text: its fields, as far as a property of the schema describes them.

The payloads are protobuf, and the Avro text has no field numbers. Pulsar's Java client writes them into the property
`__PARSING_INFO__`: number, name, type and label of each field of the message, but not of messages inside it. So a
message inside is its bytes, an enum's value its number, and a group is skipped, even if it is required. Without the
property nothing can be read.
"""

from typing import Any, Final

from google.protobuf.descriptor_pb2 import FieldDescriptorProto

from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats import json_text
from topicschema.core.formats.protobuf_native import Field, Kind, Label
from topicschema.core.schemas import Schema
from topicschema.payload.protobuf_native.descriptors import FieldOwner, FieldPlan, MessagePlan

PROPERTY: Final = "__PARSING_INFO__"
_READ_AS: Final = {Kind.MESSAGE: Kind.BYTES, Kind.ENUM: Kind.INT32}
_LABEL: Final = "LABEL_"
_OWNER: Final = FieldOwner(is_proto2=True, checks_utf8=False)  # values are shown as sent, and texts are not checked


def plan_of(schema: Schema) -> MessagePlan:
    """Return the plan of the message.

    Raises InvalidSchemaError MISSING_PARSING_INFO if the property is absent or unusable.
    """
    written = schema.info.properties.get(PROPERTY)
    if written is None:
        raise _missing(f"the schema has no property {PROPERTY} with the numbers of the message's fields")
    try:
        parsed = json_text.read(written)
    except InvalidSchemaError as error:
        raise _missing(f"the property {PROPERTY} is not JSON ({error.place})") from None
    read = [_field(each) for each in parsed] if isinstance(parsed, list) else [None]
    known = [each for each in read if each is not None]
    if len(known) < len(read):
        raise _missing(f"the property {PROPERTY} is no list of fields with number, name, type and label")
    fields = {each.number: each for each in known}
    plans = [FieldPlan(fields[number], FieldDescriptorProto(), _OWNER) for number in sorted(fields)]
    has_required = any(each.is_required for each in plans)
    plan = MessagePlan("the message", plans, has_required=has_required)
    plan.declared = tuple(each.name for each in fields.values() if each.kind is not Kind.GROUP)
    return plan


def _field(entry: Any) -> Field | None:
    if not isinstance(entry, dict):
        return None
    number, name = entry.get("number"), entry.get("name")
    kind, label = str(entry.get("type")), str(entry.get("label")).removeprefix(_LABEL)
    if not isinstance(number, int) or not isinstance(name, str) or number < 1:
        return None
    if kind not in Kind.__members__ or label not in Label.__members__:
        return None
    if Kind(kind) is Kind.GROUP and Label(label) is Label.REQUIRED:
        label = Label.OPTIONAL
    return Field(name, number, _READ_AS.get(Kind(kind), Kind(kind)), Label(label))


def _missing(message: str) -> InvalidSchemaError:
    more = "publish the schema with Pulsar's Java client, or use PROTOBUF_NATIVE"
    return InvalidSchemaError("MISSING_PARSING_INFO", f"{message}; {more}")
