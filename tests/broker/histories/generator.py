"""Histories of a topic by the seed: the schemas that a team applies one after another, right and wrong ones.

Schemas of all types and the edits between them; `comparison` compares their results.
"""

import base64
import copy
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Final

from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.message import DecodeError

from support.schemas import avro_evolution, avro_pairs, avro_schemas, families, protobuf_schemas
from topicschema.core.formats import key_value
from topicschema.core.formats.key_value import KeyValue, Part
from topicschema.core.schemas import AVRO_TEXTS, PRIMITIVES, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy

_TEXTS: Final = (SchemaType.AVRO, SchemaType.JSON, SchemaType.PROTOBUF)
_KINDS: Final = (
    *(SchemaType.AVRO,) * 8,
    *(SchemaType.JSON,) * 6,
    *(SchemaType.PROTOBUF,) * 2,
    *(SchemaType.KEY_VALUE,) * 7,
    *(SchemaType.PROTOBUF_NATIVE,) * 4,
    *(SchemaType.STRING,) * 2,
    *sorted(PRIMITIVES),
)
_WRONG_DEFAULTS: Final = (("string", None), ("int", "x"), ("long", 1.5), (["null", "string"], ""), ("boolean", 0))


@dataclass(frozen=True, slots=True)
class History:
    """The steps of one topic under one strategy; None is a soft delete by another client at the broker."""

    name: str
    strategy: Strategy
    steps: tuple[SchemaInfo | None, ...]


def history(seed: str, number: int) -> History:
    """Return the history of that number: two to six steps, under the strategies and from the types in turn."""
    random = Random(f"{seed} {number}")  # noqa: S311 - chance for tests, to be repeated
    steps: list[SchemaInfo | None] = list(_first(random, _KINDS[number % len(_KINDS)]))
    count = random.choice((2, 3, 3, 4, 4, 5, 6))
    while len(steps) < count:
        steps.append(_next(random, [step for step in steps if step is not None]))
    return History(f"h-{number}", list(Strategy)[number % len(Strategy)], tuple(steps))


def _first(random: Random, kind: SchemaType) -> list[SchemaInfo]:
    """Return a schema, or a pair of schemas that were made for each other."""
    if kind in AVRO_TEXTS and random.random() < 0.4:
        after, before = avro_pairs.pair(str(random.random()), 0)
        return [SchemaInfo(kind, text.encode("utf-8", "replace")) for text in (before, after)]
    made = _fresh(random, kind)
    return [made if random.random() < 0.94 else _invalid(random, [made])]


def _next(random: Random, before: list[SchemaInfo]) -> SchemaInfo | None:
    if random.random() < 0.06:
        return None
    edits, weights = zip(*_EDITS.items(), strict=True)
    edit: Callable[[Random, list[SchemaInfo]], SchemaInfo] = random.choices(edits, weights)[0]
    return edit(random, before)


def _fresh(random: Random, kind: SchemaType) -> SchemaInfo:
    if kind in AVRO_TEXTS and random.random() < 0.6:
        return families.avro(kind, avro_evolution.schema(random))
    return families._new(random, kind)


def _evolved(random: Random, before: list[SchemaInfo]) -> SchemaInfo:
    """Return the newest after an edit as teams make them, or an absurd one."""
    last = before[-1]
    if last.type is SchemaType.KEY_VALUE:
        return _of_parts(random, last, lambda part: _evolved(random, [part]))
    try:
        value = json.loads(last.schema) if last.schema else None
        if last.type is SchemaType.PROTOBUF_NATIVE and random.random() < 0.6:
            return replace(last, schema=_grown(random, value))
        if last.type not in AVRO_TEXTS:
            return families._edited(random, last)
        if random.random() < 0.2:
            return families.avro(last.type, avro_schemas.edited(random, value))
        random.choice(avro_evolution._EDITS)(random, value)
        return families.avro(last.type, value)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, DecodeError):  # a spoilt one
        return _fresh(random, last.type)


def _grown(random: Random, envelope: Any) -> bytes:
    """Return the envelope with one more field."""
    files = FileDescriptorSet.FromString(base64.b64decode(envelope["fileDescriptorSet"]))
    number = random.randint(300, 399)
    random.choice(files.file[-1].message_type).field.add(name=f"f{number}", number=number, label=1, type=9)
    made = protobuf_schemas.envelope(files, envelope["rootMessageTypeName"], envelope["rootFileDescriptorName"])
    return json.dumps(made).encode()


def _another(random: Random, before: list[SchemaInfo]) -> SchemaInfo:
    return _fresh(random, before[-1].type)


def _retyped(random: Random, before: list[SchemaInfo]) -> SchemaInfo:
    """Return a schema of another type: the same text where both are Avro's."""
    last, kind = before[-1], random.choice(_KINDS)
    if last.type in AVRO_TEXTS and random.random() < 0.5:
        return replace(last, type=random.choice([each for each in _TEXTS if each is not last.type]))
    if last.type is SchemaType.KEY_VALUE and random.random() < 0.6:
        return _of_parts(random, last, lambda part: _retyped(random, [part]))
    return _fresh(random, kind)


def _rolled_back(random: Random, before: list[SchemaInfo]) -> SchemaInfo:
    return random.choice(before)


def _rewritten(random: Random, before: list[SchemaInfo]) -> SchemaInfo:
    """Return an older schema in another spelling: spaces, a doc, the order of members."""
    old = random.choice(before)
    if old.type is SchemaType.KEY_VALUE:
        return _of_parts(random, old, lambda part: _rewritten(random, [part]))
    try:
        value = json.loads(old.schema)
        if old.type in AVRO_TEXTS and isinstance(value, dict) and random.random() < 0.6:
            value = {"doc": "words", **dict(reversed(copy.deepcopy(value).items()))}
        text = json.dumps(value, indent=random.choice((None, 1)), ensure_ascii=random.random() < 0.5)
    except (ValueError, RecursionError):
        return old
    return replace(old, schema=text.encode("utf-8", "replace"))


def _described(random: Random, before: list[SchemaInfo]) -> SchemaInfo:
    """Return an older schema with other properties, or a pair in the other encoding."""
    old = random.choice(before)
    more = {random.choice(("owner", "é", "__charset")): random.choice(("shop", "", "UTF-8", "<b>\"'"))}
    if old.type is not SchemaType.KEY_VALUE:
        return replace(old, properties={**old.properties, **more})
    return _of_parts(random, old, lambda part: replace(part, properties=more))


def _invalid(random: Random, before: list[SchemaInfo]) -> SchemaInfo:
    """Return a text that is no schema, or is none by one letter."""
    last = before[-1]
    if last.type is SchemaType.KEY_VALUE:
        return _of_parts(random, last, lambda part: _invalid(random, [part]))
    if last.type in PRIMITIVES:
        return replace(last, schema=random.choice((b"null", b"x", b'"string"', b" ")))
    at = random.randrange(len(last.schema) + 1)
    texts = (last.schema[:at], b"", b"{}", b'{"type": "record"}', b"null", b"[]", b'"string"', b'["null", "string"]')
    spoilt = avro_schemas.spoilt(random).encode("utf-8", "replace")
    return replace(last, schema=random.choice((*texts, spoilt, spoilt, spoilt)).decode("utf-8", "ignore").encode())


def _ill_defaulted(random: Random, before: list[SchemaInfo]) -> SchemaInfo:
    """Return a record with a default that is none of its field's type."""
    last = before[-1]
    if last.type is SchemaType.KEY_VALUE:
        return _of_parts(random, last, lambda part: _ill_defaulted(random, [part]))
    kind, default = random.choice(_WRONG_DEFAULTS)
    ill = {"name": "ill", "type": kind, "default": default}
    value: Any = {"type": "record", "name": "Ill", "fields": [ill]}
    return families.avro(last.type if last.type in AVRO_TEXTS else SchemaType.AVRO, value)


def _of_parts(random: Random, info: SchemaInfo, edit: Callable[[SchemaInfo], SchemaInfo]) -> SchemaInfo:
    """Return the pair with one part edited, or both, which then are no pairs; sometimes in the other encoding."""
    pair = key_value.decode(info)
    chosen = random.choice(((0,), (1,), (1,), (0, 1)))
    parts = []
    for index, (_, part) in enumerate(pair.parts):
        edited = edit(part.info) if index in chosen else part.info
        parts.append(Part(part.info if edited.type is SchemaType.KEY_VALUE else edited, part.name))
    encoding = random.choice(list(key_value.Encoding)) if random.random() < 0.2 else pair.encoding
    return key_value.encode(KeyValue(parts[0], parts[1], encoding))


_EDITS: Final[dict[Callable[[Random, list[SchemaInfo]], SchemaInfo], int]] = {
    _evolved: 46,
    _another: 6,
    _retyped: 9,
    _rolled_back: 11,
    _rewritten: 8,
    _described: 5,
    _invalid: 7,
    _ill_defaulted: 4,
}
