"""Every way into `core` and `payload` by which a stranger's document comes, tried one after the other.

`Guarded` is what each call goes through; it alone knows what may be raised.
"""

import io
import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, Protocol, TypeVar

from hostile.documents import Document
from topicschema import payload
from topicschema.cli.check import batch, excerpt
from topicschema.core import clients, compatibility, formats
from topicschema.core.clients import Client, TopicState
from topicschema.core.compatibility import Incompatibility, Predecessor
from topicschema.core.errors import Place, TopicSchemaError
from topicschema.core.formats import key_value
from topicschema.core.schemas import PRIMITIVES, PulsarVersion, Schema, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy
from topicschema.core.topics import PulsarNamespaceKey, Topic
from topicschema.payload import auto_produce, display_json
from topicschema.payload.columnar import validator_for
from topicschema.payload.columnar.column import Column
from topicschema.payload.columnar.reasons import REASONS
from topicschema.payload.columnar.verdicts import Validator

T = TypeVar("T")

_RECORD: Final = (
    b'{"type":"record","name":"R","fields":[{"name":"a","type":["null","int","string"]},{"name":"self","type":'
    b'["null","R"]},{"name":"f0","type":{"type":"array","items":{"type":"map","values":"bytes"}}}]}'
)
_ENVELOPE: Final = (
    b'{"fileDescriptorSet":"ChEKBzAucHJvdG8SAXAiAwoBTQ==",'
    b'"rootMessageTypeName":"p.M","rootFileDescriptorName":"0.proto"}'
)
_PAIR: Final = SchemaInfo(
    SchemaType.KEY_VALUE,
    key_value.payload_of(f'{{"key":"int","value":{_RECORD.decode()}}}'),
    {"key.schema.type": "AVRO", "value.schema.type": "JSON"},
)
_GOOD: Final[Mapping[SchemaType, SchemaInfo]] = {
    **{kind: SchemaInfo(kind) for kind in PRIMITIVES},
    **{kind: SchemaInfo(kind, _RECORD) for kind in (SchemaType.AVRO, SchemaType.JSON, SchemaType.PROTOBUF)},
    SchemaType.KEY_VALUE: _PAIR,
    SchemaType.PROTOBUF_NATIVE: SchemaInfo(SchemaType.PROTOBUF_NATIVE, _ENVELOPE),
}
_RISKY: Final = (Strategy.ALWAYS_COMPATIBLE, Strategy.BACKWARD, Strategy.FULL_TRANSITIVE)
_MOST_PLACES: Final = 5
_LARGE: Final = 300_000  # bytes
OUR_OWN: Final = TopicSchemaError
"""All that a call may raise."""


class Guarded(Protocol):
    """Calls, and answers what the call returned; None where it raised one of our own errors."""

    def __call__(self, door: str, call: Callable[[], T], texts: int = 1) -> T | None:
        """What `call` returns; `texts` is how many schemas it may read on the way, each in a time of its own."""


def unlock() -> None:
    """Judge by each compiled loop once: numba compiles it then, or reads it, which is no document's fault."""
    for kind in (SchemaType.AVRO, SchemaType.PROTOBUF_NATIVE):
        _verdicts(validator_for(_GOOD[kind], _GOOD[kind], PulsarVersion.V4_0), [b""])


def knock(document: Document, guarded: Guarded) -> None:
    """Take the document to every door."""
    infos = (("", document.info), ("twin's ", document.twin))
    schema, twin = (_parsed(name, info, document.pulsar_version, guarded) for name, info in infos)
    earlier = formats.parse(_GOOD[document.info.type]) if document.info.type in _GOOD else None
    found = _judged(schema, twin, earlier, guarded)
    _placed(document.info, found, guarded)
    for each in (schema, earlier):
        if each is not None:
            _carried(each, document, guarded)
    if schema is not None and twin is not None:
        guarded("decode by its twin", lambda: payload.decode(twin, document.payload, document.payload, writer=schema))
    _in_columns(document, guarded)
    _texts(document.info, guarded)
    _connected(document, guarded)
    _asked(document, guarded)


def _parsed(name: str, info: SchemaInfo, pulsar_version: PulsarVersion, guarded: Guarded) -> Schema | None:
    guarded(f"{name}parse without defaults", lambda: formats.parse(info, pulsar_version, validate_defaults=False))
    schema = guarded(f"{name}parse", lambda: formats.parse(info, pulsar_version))
    if schema is not None:
        guarded(f"{name}fingerprint", lambda: schema.fingerprint)
        guarded(f"{name}content_hash", lambda: schema.info.content_hash)
    return schema


def _judged(
    schema: Schema | None, twin: Schema | None, earlier: Schema | None, guarded: Guarded
) -> tuple[Incompatibility, ...]:
    """All that is found, if `schema` is the candidate."""
    found: list[Incompatibility] = []
    pairs = (("after a good one", schema, earlier), ("before a good one", earlier, schema))
    twins = (("after its twin", schema, twin), ("before its twin", twin, schema), ("after itself", schema, schema))
    for name, candidate, before in (*pairs, *twins):
        if candidate is None or before is None:
            continue
        for strategy in Strategy:
            told = guarded(f"{strategy} {name}", lambda: _checked(candidate, before, strategy)) or ()  # noqa: B023 - called at once
            found += told if candidate is schema else ()
        for strategy in _RISKY:
            told = guarded(f"risks, {strategy} {name}", lambda: _risky(candidate, before, strategy)) or ()  # noqa: B023 - called at once
            found += told if candidate is schema else ()
    return tuple(found)


def _checked(candidate: Schema, before: Schema, strategy: Strategy) -> tuple[Incompatibility, ...]:
    return compatibility.check(candidate, [Predecessor(0, before.info.type, before)], strategy)


def _risky(candidate: Schema, before: Schema, strategy: Strategy) -> tuple[Incompatibility, ...]:
    predecessor = Predecessor(0, before.info.type, before)
    return *compatibility.risks(candidate, [predecessor], strategy), *compatibility.risks_of_equal(
        candidate, predecessor
    )


def _placed(info: SchemaInfo, found: tuple[Incompatibility, ...], guarded: Guarded) -> None:
    if found and info.type is not SchemaType.KEY_VALUE:
        places = [Place(each.path) for each in (*found[:_MOST_PLACES], *found[-_MOST_PLACES:])]
        guarded("excerpts", lambda: _excerpts(info.schema.decode("utf-8-sig"), places))


def _excerpts(text: str, places: list[Place]) -> list[str]:
    shown = excerpt.Excerpts(text, places)
    return [line for place in places for line in shown.at(place)]


def _carried(schema: Schema, document: Document, guarded: Guarded) -> None:
    """Payloads and values: the document's own, and its schema's text as a payload."""
    name = schema.info.type
    for what, content in (("payload", document.payload), ("text", document.info.schema)):
        guarded(f"validate {what} by {name}", lambda: payload.validate(schema, content, content))  # noqa: B023 - called at once
        value = guarded(f"decode {what} by {name}", lambda: payload.decode(schema, content, content))  # noqa: B023 - called at once
        guarded(f"show {what} by {name}", lambda: display_json.to_json(schema, value))  # noqa: B023 - called at once
        guarded(f"auto-produce {what} by {name}", lambda: auto_produce.refusals(schema, content))  # noqa: B023 - called at once
    guarded(f"encode by {name}", lambda: payload.encode(schema, document.value))
    guarded(f"read a value by {name}", lambda: payload.encode(schema, display_json.of_json(schema, document.value)))


def _in_columns(document: Document, guarded: Guarded) -> None:
    """The judge of what was written with it, by its twin and by itself: a program, or a checker's source, is made."""
    contents = [document.payload, document.info.schema, None, b""]
    for name, reader in (("its twin", document.twin), ("itself", document.info)):
        make = partial(validator_for, reader, document.info, document.pulsar_version)
        judge = guarded(f"validator_for {name}", make, 2)
        if judge is not None:
            guarded(f"judge by {name}", lambda: _verdicts(judge, contents), len(contents))  # noqa: B023 - called at once


def _verdicts(validator: Validator, contents: list[bytes | None]) -> None:
    verdicts = validator.validate(Column.of(contents), Column.of(contents[::-1]))
    if len(verdicts.reasons) != len(contents):
        raise RuntimeError(f"{len(verdicts.reasons)} verdicts")
    found = {REASONS[number] for number in verdicts.reasons if number}
    if not found <= validator.reasons.keys() or max(verdicts.paths) >= len(validator.paths):
        raise RuntimeError("a verdict beyond the lists")


def _texts(info: SchemaInfo, guarded: Guarded) -> None:
    text = info.schema.decode("utf-8", "surrogateescape")
    guarded("Topic", lambda: Topic.parse(text))
    guarded("Topic with a domain", lambda: Topic.parse(f"persistent://t/n/{text}"))
    guarded("PulsarNamespaceKey", lambda: PulsarNamespaceKey.parse("", text))
    guarded("REST form", lambda: key_value.payload_of(text))
    guarded("REST form of a part", lambda: key_value.payload_of(f'{{"key":"","value":{text}}}'))
    guarded("compacted", lambda: key_value.compacted(text))
    guarded("text_of", lambda: key_value.text_of(info.schema))
    guarded("decode a pair", lambda: key_value.encode(key_value.decode(info)))


def _connected(document: Document, guarded: Guarded) -> None:
    """Each reads up to six times: to validate, to find an equal one (two), to compare (two), to warn."""
    after, again = TopicState((document.twin,)), TopicState((document.info,), Strategy.BACKWARD_TRANSITIVE)
    pairs = [(client, topic) for client in Client for topic in (after, again)]
    for client, topic in () if _is_large(document) else pairs:
        guarded(f"connect {client}", lambda: clients.connect(client, document.info, topic), 6)  # noqa: B023 - called at once


def _asked(document: Document, guarded: Guarded) -> None:
    for step in ("register", "compatibility")[: 1 if _is_large(document) else None]:
        line = json.dumps(_request(document, step)).encode()
        guarded(f"batch {step}", lambda: _answered(line), 3)  # noqa: B023 - called at once
    guarded("batch of itself", lambda: _answered(document.info.schema.replace(b"\n", b" ")))


def _is_large(document: Document) -> bool:
    """Whether doors that do again what others do are left out, as they take time."""
    return len(document.info.schema) > _LARGE


def _request(document: Document, step: str) -> dict[str, Any]:
    info, twin = (
        {
            "type": each.type,
            "schema": each.schema.decode("utf-8", "surrogateescape"),
            "properties": dict(each.properties),
        }
        for each in (document.info, document.twin)
    )
    return {
        "id": 1,
        "pulsarVersion": document.pulsar_version,
        "strictness": "Strict",
        "strategy": "FULL_TRANSITIVE",
        "step": step,
        "history": [twin],
        "candidate": info,
    }


def _answered(line: bytes) -> None:
    """The batch tells its own bugs; here they are raised again, as what they are."""
    answers, trouble = io.StringIO(), io.StringIO()
    batch.answer_all(io.BytesIO(line), answers, trouble)
    if trouble.getvalue():
        raise RuntimeError(trouble.getvalue())
