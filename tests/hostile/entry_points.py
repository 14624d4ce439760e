"""Entry points of `core` and `payload` that take another's document, tried one after the other.

`Call` makes each call; only its implementation knows which errors are allowed.
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
from topicschema.payload.arrow import decoder_for
from topicschema.payload.arrow.decoder import Decoder
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
"""The errors that a call may raise."""


class Call(Protocol):
    """Makes a call and returns its result, or None if it raised one of our own errors."""

    def __call__(self, name: str, function: Callable[[], T], texts: int = 1) -> T | None:
        """Return the function's result. The time limit is that of `texts` schemas."""


def warm_up() -> None:
    """Judge by each compiled loop once, so that numba's compilation counts for no document."""
    for kind in (SchemaType.AVRO, SchemaType.PROTOBUF_NATIVE):
        _verdicts(validator_for(_GOOD[kind], _GOOD[kind], PulsarVersion.V4_0), [b""])
    numbers = SchemaInfo(SchemaType.AVRO, b'{"type": "map", "values": "int"}')
    _decode(decoder_for(numbers, numbers, PulsarVersion.V4_0), [b"\x04\x02a\x02\x02a\x04\x00"])  # a key twice


def try_all(document: Document, call: Call) -> None:
    """Pass the document to every entry point."""
    infos = (("", document.info), ("twin's ", document.twin))
    schema, twin = (_parse(name, info, document.pulsar_version, call) for name, info in infos)
    earlier = formats.parse(_GOOD[document.info.type]) if document.info.type in _GOOD else None
    incompatibilities = _judge(schema, twin, earlier, call)
    _show(document.info, incompatibilities, call)
    for each in (schema, earlier):
        if each is not None:
            _use_payloads(each, document, call)
    if schema is not None and twin is not None:
        call("decode by its twin", lambda: payload.decode(twin, document.payload, document.payload, writer=schema))
    _validate_columns(document, call)
    _parse_texts(document.info, call)
    _connect(document, call)
    _run_batch(document, call)


def _parse(name: str, info: SchemaInfo, pulsar_version: PulsarVersion, call: Call) -> Schema | None:
    call(f"{name}parse without defaults", lambda: formats.parse(info, pulsar_version, validate_defaults=False))
    schema = call(f"{name}parse", lambda: formats.parse(info, pulsar_version))
    if schema is not None:
        call(f"{name}fingerprint", lambda: schema.fingerprint)
        call(f"{name}content_hash", lambda: schema.info.content_hash)
    return schema


def _judge(
    schema: Schema | None, twin: Schema | None, earlier: Schema | None, call: Call
) -> tuple[Incompatibility, ...]:
    """Return the incompatibilities of all strategies if `schema` is the candidate."""
    incompatibilities: list[Incompatibility] = []
    pairs = (("after a good one", schema, earlier), ("before a good one", earlier, schema))
    twins = (("after its twin", schema, twin), ("before its twin", twin, schema), ("after itself", schema, schema))
    for name, candidate, before in (*pairs, *twins):
        if candidate is None or before is None:
            continue
        for strategy in Strategy:
            result = call(f"{strategy} {name}", lambda: _check(candidate, before, strategy)) or ()  # noqa: B023 - called at once
            incompatibilities += result if candidate is schema else ()
        for strategy in _RISKY:
            result = call(f"risks, {strategy} {name}", lambda: _risks(candidate, before, strategy)) or ()  # noqa: B023 - called at once
            incompatibilities += result if candidate is schema else ()
    return tuple(incompatibilities)


def _check(candidate: Schema, before: Schema, strategy: Strategy) -> tuple[Incompatibility, ...]:
    return compatibility.check(candidate, [Predecessor(0, before.info.type, before)], strategy)


def _risks(candidate: Schema, before: Schema, strategy: Strategy) -> tuple[Incompatibility, ...]:
    predecessor = Predecessor(0, before.info.type, before)
    return *compatibility.risks(candidate, [predecessor], strategy), *compatibility.risks_of_equal(
        candidate, predecessor
    )


def _show(info: SchemaInfo, incompatibilities: tuple[Incompatibility, ...], call: Call) -> None:
    if incompatibilities and info.type is not SchemaType.KEY_VALUE:
        places = [Place(each.path) for each in (*incompatibilities[:_MOST_PLACES], *incompatibilities[-_MOST_PLACES:])]
        call("excerpts", lambda: _excerpts(info.schema.decode("utf-8-sig"), places))


def _excerpts(text: str, places: list[Place]) -> list[str]:
    shown = excerpt.Excerpts(text, places)
    return [line for place in places for line in shown.at(place)]


def _use_payloads(schema: Schema, document: Document, call: Call) -> None:
    """Use the document's payload, and its schema's text as a payload, by the schema."""
    name = schema.info.type
    for what, content in (("payload", document.payload), ("text", document.info.schema)):
        call(f"validate {what} by {name}", lambda: payload.validate(schema, content, content))  # noqa: B023 - called at once
        value = call(f"decode {what} by {name}", lambda: payload.decode(schema, content, content))  # noqa: B023 - called at once
        call(f"show {what} by {name}", lambda: display_json.to_json(schema, value))  # noqa: B023 - called at once
        call(f"auto-produce {what} by {name}", lambda: auto_produce.refusals(schema, content))  # noqa: B023 - called at once
    call(f"encode by {name}", lambda: payload.encode(schema, document.value))
    call(f"read a value by {name}", lambda: payload.encode(schema, display_json.of_json(schema, document.value)))


def _validate_columns(document: Document, call: Call) -> None:
    """Validate columns of payloads that were written with the document's schema, by its twin and by itself.

    The validator compiles a program, or a checker's source.
    """
    contents = [document.payload, document.info.schema, None, b""]
    for name, reader in (("its twin", document.twin), ("itself", document.info)):
        make = partial(validator_for, reader, document.info, document.pulsar_version)
        judge = call(f"validator_for {name}", make, 2)
        if judge is not None:
            call(f"judge by {name}", lambda: _verdicts(judge, contents), len(contents))  # noqa: B023 - called at once
        make_decoder = partial(decoder_for, reader, document.info, document.pulsar_version)
        decoder = call(f"decoder_for {name}", make_decoder, 2)
        if decoder is not None:
            call(f"decode by {name}", lambda: _decode(decoder, contents), len(contents))  # noqa: B023 - as above


def _verdicts(validator: Validator, contents: list[bytes | None]) -> None:
    verdicts = validator.validate(Column.of(contents), Column.of(contents[::-1]))
    if len(verdicts.reasons) != len(contents):
        raise RuntimeError(f"{len(verdicts.reasons)} verdicts")
    reasons = {REASONS[number] for number in verdicts.reasons if number}
    if not reasons <= validator.reasons.keys() or max(verdicts.paths) >= len(validator.paths):
        raise RuntimeError("a verdict beyond the lists")


def _decode(decoder: Decoder, contents: list[bytes | None]) -> None:
    decoded = decoder.decode(Column.of(contents), Column.of(contents[::-1]))
    decoded.array.validate(full=True)
    if len(decoded.array) != len(contents) or decoded.array.type != decoder.type:
        raise RuntimeError("another column")
    reasons = {REASONS[number] for number in decoded.verdicts.reasons if number}
    if not reasons <= decoder.reasons.keys() or max(decoded.verdicts.paths) >= len(decoded.paths):
        raise RuntimeError("a verdict beyond the lists")


def _parse_texts(info: SchemaInfo, call: Call) -> None:
    text = info.schema.decode("utf-8", "surrogateescape")
    call("Topic", lambda: Topic.parse(text))
    call("Topic with a domain", lambda: Topic.parse(f"persistent://t/n/{text}"))
    call("PulsarNamespaceKey", lambda: PulsarNamespaceKey.parse("", text))
    call("REST form", lambda: key_value.payload_of(text))
    call("REST form of a part", lambda: key_value.payload_of(f'{{"key":"","value":{text}}}'))
    call("compacted", lambda: key_value.compacted(text))
    call("text_of", lambda: key_value.text_of(info.schema))
    call("decode a pair", lambda: key_value.encode(key_value.decode(info)))


def _connect(document: Document, call: Call) -> None:
    """Connect each client, which reads up to six times: to validate, find an equal one (2), compare (2) and warn."""
    after, again = TopicState((document.twin,)), TopicState((document.info,), Strategy.BACKWARD_TRANSITIVE)
    pairs = [(client, topic) for client in Client for topic in (after, again)]
    for client, topic in () if _is_large(document) else pairs:
        call(f"connect {client}", lambda: clients.connect(client, document.info, topic), 6)  # noqa: B023 - called at once


def _run_batch(document: Document, call: Call) -> None:
    for step in ("register", "compatibility")[: 1 if _is_large(document) else None]:
        line = json.dumps(_request(document, step)).encode()
        call(f"batch {step}", lambda: _answer(line), 3)  # noqa: B023 - called at once
    call("batch of itself", lambda: _answer(document.info.schema.replace(b"\n", b" ")))


def _is_large(document: Document) -> bool:
    """Return True if the document is too large for entry points that repeat what others do."""
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


def _answer(line: bytes) -> None:
    """Answer a batch and raise the bugs that it reports."""
    answers, trouble = io.StringIO(), io.StringIO()
    batch.answer_all(io.BytesIO(line), answers, trouble)
    if trouble.getvalue():
        raise RuntimeError(trouble.getvalue())
