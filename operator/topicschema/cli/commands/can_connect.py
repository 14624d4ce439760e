"""`topicschema can-connect`: would a broker let a client connect to a topic, and what would change?

`core.clients` decides. This module reads the files and prints the answer.
"""

import json
from argparse import Namespace
from collections.abc import Iterator
from typing import Any, Final

from topicschema.cli import plugins
from topicschema.cli.arguments import AUTO_PRODUCE
from topicschema.cli.check import json_io
from topicschema.cli.check import text as check_text
from topicschema.cli.check.text import Files
from topicschema.cli.commands import check
from topicschema.cli.exits import COMPATIBLE, INCOMPATIBLE
from topicschema.cli.inputs import files, schema_files
from topicschema.cli.inputs.files import UsageError
from topicschema.core import clients, formats
from topicschema.core.broker_errors import BrokerError
from topicschema.core.clients import Client, ConnectOutcome, ConnectResult, TopicState
from topicschema.core.errors import InvalidSchemaError
from topicschema.core.policy import Policy, effective_strategy
from topicschema.core.schemas import TEXTLESS, PulsarVersion, SchemaInfo, SchemaType
from topicschema.core.strategies import Strategy

_WITHOUT_TEXT: Final = TEXTLESS - {SchemaType.BYTES}
_NEVER_STORED: Final = (SchemaType.BYTES, SchemaType.AUTO_CONSUME, SchemaType.AUTO_PUBLISH)
_FAILS: Final = "The broker fails with an exception in the comparison; a retry does not help."
_NEVER_ANSWERS: Final = "The broker never answers, until the client's own timeout."


def run(options: Namespace) -> int:
    """Print the answer. Return the exit code for it."""
    names = [] if options.schema is None else [options.schema]
    kind = SchemaType.AUTO_PUBLISH if options.type == AUTO_PRODUCE else schema_files.kind_of(options.type, names)
    stored = _kind_of_history(options, kind)
    kinds = [*(stored for _ in options.history), *(kind for _ in names)]
    properties = check.properties(options.property)
    infos = schema_files.read(kinds, [*options.history, *names], options, properties)
    topic = _topic(options, infos[: len(options.history)])
    sent = _sent(options, kind, infos[len(options.history) :])
    answer = clients.connect(Client(options.client), sent, topic)
    if options.output == "json":
        print(json.dumps({**_as_json(options.client, answer), "pulsarVersion": topic.pulsar_version}, indent=2))
    else:
        print("\n".join(_lines(options, sent, topic, answer)))
    return COMPATIBLE if answer.may_connect else INCOMPATIBLE


def _kind_of_history(options: Namespace, kind: SchemaType) -> SchemaType:
    """Return the type of the topic's versions for a client's type `kind`."""
    if options.history_type is not None or any(map(schema_files.is_proto, options.history)):
        return schema_files.kind_of(options.history_type, options.history, "--history-type")
    return SchemaType.AVRO if kind in _NEVER_STORED else kind


def _topic(options: Namespace, infos: list[SchemaInfo]) -> TopicState:
    return TopicState(
        history=tuple(_stored(*each) for each in zip(options.history, infos, strict=True)),
        strategy=effective_strategy(Policy(Strategy(options.strategy)), None).value,
        allows_auto_update=not options.no_auto_update,
        enforces_validation=options.enforced,
        is_in_use=bool(options.is_in_use),
        pulsar_version=PulsarVersion(options.pulsar_version),
        checkers=plugins.load(),
    )


def _sent(options: Namespace, kind: SchemaType, infos: list[SchemaInfo]) -> SchemaInfo | None:
    """Return the client's schema, or None if the type needs a text and none is given."""
    if infos:
        return _stored(options.schema, infos[0])
    return SchemaInfo(kind) if kind in _WITHOUT_TEXT else None


def _stored(name: str, info: SchemaInfo) -> SchemaInfo:
    try:
        return formats.as_stored(info)
    except InvalidSchemaError as error:
        raise UsageError(f"{files.shown(name)}: {error.sentence}") from None


def _as_json(client: str, answer: ConnectResult) -> dict[str, Any]:
    return {
        "client": client,
        "mayConnect": answer.may_connect,
        "outcome": answer.outcome,
        "schemaVersion": answer.schema_version,
        "error": None if answer.error is None else {"name": answer.error, "message": answer.message},
        "upgradeFirst": answer.upgrade_first,
        "incompatibilities": json_io.findings(answer.incompatibilities),
        "warnings": json_io.findings(answer.warnings),
    }


def _lines(options: Namespace, sent: SchemaInfo | None, topic: TopicState, answer: ConnectResult) -> Iterator[str]:
    subject = f"A {options.client} {_schema(options, sent)}"
    if answer.may_connect:
        yield from check_text.wrapped(f"{subject} may connect: {_what_happens(options, topic, answer)}")
        if topic.versions and answer.upgrade_first in check_text.UPGRADE:
            order = check_text.UPGRADE[answer.upgrade_first]
            yield from check_text.wrapped(f"Under {topic.strategy}, {order[0].lower()}{order[1:]}")
    else:
        yield from check_text.wrapped(f"{subject} may not connect: {answer.error}")
        yield from check_text.wrapped(_brokers_words(answer), "  ")
        if answer.incompatibilities:
            yield from check_text.findings(answer.incompatibilities, *_files(options, sent))
    yield from check_text.warnings(answer.warnings, *_files(options, sent))
    yield from check_text.explained(check_text.rules_of(answer.incompatibilities, answer.warnings))
    if options.client != Client.PRODUCER and not topic.versions and options.is_in_use is None:
        yield from check_text.wrapped(
            "The topic was assumed inactive; use --topic-active for one with clients or messages."
        )
    yield check_text.judged_by(topic.pulsar_version)


def _files(options: Namespace, sent: SchemaInfo | None) -> tuple[Files, str]:
    """Return the names of the schemas, and the text that places in the client's schema refer to."""
    is_source = options.schema is not None and schema_files.is_proto(options.schema)
    text = "" if sent is None or is_source else sent.schema.decode(errors="replace")
    return Files(_schema(options, sent), tuple(map(files.shown, options.history)), not is_source), text


def _schema(options: Namespace, sent: SchemaInfo | None) -> str:
    if sent is None or sent.type is SchemaType.BYTES:
        return "without a schema"
    if options.schema is None:
        return f"with {options.type}"
    return f"with {files.shown(options.schema)}"


def _what_happens(options: Namespace, topic: TopicState, answer: ConnectResult) -> str:
    version = answer.schema_version
    if answer.outcome is ConnectOutcome.REGISTERS_VERSION:
        return f"its schema becomes version {version}."
    if version is not None:
        stays = "" if version == len(topic.history) - 1 else f" Version {len(topic.history) - 1} stays the latest."
        return f"it uses version {version} ({files.shown(options.history[version])}).{stays}"
    if options.client == Client.PRODUCER:
        return "its messages carry no schema version."
    return "nothing is registered."


def _brokers_words(answer: ConnectResult) -> str:
    if answer.error is BrokerError.NO_ANSWER:
        return _NEVER_ANSWERS
    if answer.error is BrokerError.UNKNOWN_ERROR:
        return _FAILS
    return f"Broker: {answer.message.strip()} ..." if answer.message else ""
