"""Random schemas of any type, each an edit of the previous one, as in a topic's history."""

import copy
import json
from random import Random
from typing import Any, Final

from support.schemas import avro_schemas, protobuf_schemas
from topicschema.core import formats
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.formats import key_value
from topicschema.core.formats.key_value import Encoding, KeyValue, Part
from topicschema.core.schemas import PRIMITIVES, Schema, SchemaInfo, SchemaType

AVRO_TEXTS: Final = (SchemaType.AVRO, SchemaType.JSON, SchemaType.PROTOBUF)
TYPES: Final = (*AVRO_TEXTS, SchemaType.PROTOBUF_NATIVE, SchemaType.KEY_VALUE, SchemaType.INT32, SchemaType.STRING)
_TRIES: Final = 40
_SAME_NAME: Final = 0.7  # the share of edits that do not rename the root message


def family(random: Random, kind: SchemaType, count: int) -> list[Schema]:
    """Return that number of schemas, or fewer if too many are invalid."""
    info = _new(random, kind)
    schemas: list[Schema] = []
    for _ in range(_TRIES):
        if len(schemas) == count:
            break
        try:
            schemas.append(formats.parse(info))
        except InvalidSchemaError:
            info = schemas[-1].info if schemas else _new(random, kind)
        info = _edited(random, info)
    return schemas


def avro(kind: SchemaType, value: Any) -> SchemaInfo:
    return SchemaInfo(kind, json.dumps(value, ensure_ascii=False).encode())


def _new(random: Random, kind: SchemaType) -> SchemaInfo:
    if kind is SchemaType.PROTOBUF_NATIVE:
        return SchemaInfo(kind, protobuf_schemas.random_envelope(random, 0))
    if kind is SchemaType.KEY_VALUE:
        return _pair(random, *(Part(_new(random, random.choice(TYPES[:4]))) for _ in range(2)))
    return SchemaInfo(kind) if kind in PRIMITIVES else avro(kind, avro_schemas.schema(random))


def _edited(random: Random, info: SchemaInfo) -> SchemaInfo:
    if info.type in AVRO_TEXTS:
        return avro(info.type, avro_schemas.edited(random, copy.deepcopy(json.loads(info.schema))))
    if info.type is SchemaType.KEY_VALUE:
        pair = key_value.decode(info)
        parts = [Part(_edited(random, part.info), part.name) for _, part in pair.parts]
        if random.random() < 0.1:
            parts[random.randrange(2)] = Part(_new(random, random.choice(TYPES[:4])))
        return _pair(random, *parts)
    if info.type is SchemaType.PROTOBUF_NATIVE and random.random() < _SAME_NAME:
        return SchemaInfo(info.type, protobuf_schemas.spoilt(random, info.schema))
    return _new(random, info.type)


def _pair(random: Random, key: Part, value: Part) -> SchemaInfo:
    return key_value.encode(KeyValue(key, value, random.choice(list(Encoding))))
