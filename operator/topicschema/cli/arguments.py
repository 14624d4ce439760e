"""Commands and options of the command line. Imports nothing that a command needs for its work."""

import argparse
from collections.abc import Mapping
from enum import StrEnum
from keyword import iskeyword
from typing import Any, Final

from topicschema import __version__
from topicschema.core.policy import Strictness
from topicschema.core.schemas import EXTERNAL, NEWEST, PulsarVersion, SchemaType
from topicschema.core.strategies import Strategy

_PROCESSES: Final = {
    "controller": (
        "controller.process",
        "register accepted schemas; one replica is the leader",
    ),
    "registry": ("registry.server", "serve Pulsar's admin REST API of schemas"),
    "webhook": ("webhook.server", "review TopicSchemas and NamespaceSchemaPolicies at admission"),
}
_DESCRIPTION: Final = (
    "Apache Pulsar topic schemas as Kubernetes resources. The processes take their settings from the environment "
    "(TOPICSCHEMA_...; docs/operations.md); of the other commands, only backup, restore, storage, get, history, "
    "diff and why need a cluster (docs/cli.md)."
)
_SYSTEM: Final = "topicschema-system"
_AS_WRITTEN: Final = argparse.RawDescriptionHelpFormatter
AUTO_PRODUCE: Final = "AUTO_PRODUCE"
"""Clients' name for AUTO_PUBLISH (Java's AUTO_PRODUCE_BYTES)."""
NOT_WITH_BATCH: Final[Mapping[str, object]] = {
    "type": None,
    "pulsar_version": NEWEST.value,
    "strategy": Strategy.UNDEFINED.value,
    "strictness": Strictness.BROKER.value,
    "history": [],
    "history_type": None,
    "property": [],
    "message": None,
    "history_message": None,
    "folders": [],
    "imported": [],
    "output": "text",
    "git": None,
    "live": False,
    "paths": [],
}
"""Options that the lines of a batch set themselves, with their defaults."""
_CHECK: Final = """exit codes:
  0  compatible, or equal to an earlier version
  1  incompatible, or an invalid schema
  2  wrong input: an unreadable file, a wrong option
  3  with --live: the cluster gave no answer
  with --batch: 0, or 2 if a request was invalid

examples:
  topicschema check --git origin/main schemas/
  kustomize build overlays/prod | topicschema check --live -
  topicschema check --strategy BACKWARD --history v1.avsc v2.avsc
  topicschema check -I protos --history old/order.proto protos/shop/order.proto
  topicschema check --batch < requests.jsonl > answers.jsonl"""

_CAN_CONNECT: Final = """Without SCHEMA the client has no schema, or a primitive TYPE, which needs no text.
BYTES also means no schema. NONE is a schema of that type.
AUTO_PRODUCE and AUTO_CONSUME are settings of clients.

exit codes:
  0  may connect
  1  may not connect
  2  wrong input: an unreadable file, a wrong option

examples:
  topicschema can-connect producer --strategy FULL --no-auto-update --history v1.avsc v2.avsc
  topicschema can-connect consumer --type STRING --topic-active"""
_EXPORT = """Standard input is the output of kubectl for one SchemaHistory and its SchemaVersions (docs/broker.md):
  { kubectl get schemahistory NAME -o json
    kubectl get schemaversions -l topicschema.io/history=NAME -o json; } | topicschema export"""

_BACKUP: Final = """exit codes:
  0  written
  2  wrong input: no kubeconfig, a wrong option
  3  the cluster gave no answer, or an object is damaged

examples:
  topicschema backup > record.jsonl
  topicschema backup -o record-%Y-%m-%d.jsonl"""
_RESTORE: Final = """exit codes:
  0  restored
  1  nothing written: the cluster has a newer history
  2  wrong input: a file that is no whole backup, no kubeconfig, a wrong option
  3  the cluster gave no answer: run it again

example:
  topicschema restore record.jsonl"""
_STORAGE_COPY: Final = """Stop the controller, the webhook and the registry first. The URL of the store
postgresql is in TOPICSCHEMA_SCHEMA_REGISTRY_STORAGE_URL, or in the file of
TOPICSCHEMA_SCHEMA_REGISTRY_STORAGE_URL_FILE (docs/storage.md).

exit codes:
  0  copied, and equal in both stores
  1  nothing written: TO has something that FROM lacks, or that is newer or differs
  2  wrong input: no kubeconfig, no URL, a wrong option
  3  a store gave no answer, or an object is damaged: run it again to continue

example:
  topicschema storage copy kubernetes postgresql"""
_STORAGE_BENCH: Final = """The store is that of TOPICSCHEMA_SCHEMA_REGISTRY_STORAGE, as for the controller. The
command writes topics of the registry topicschema-storage-bench and removes them again, also after
Ctrl-C. It changes no other topic, and does not start if this registry exists.

exit codes:
  0  measured, and removed again
  1  nothing written: the registry exists, or the store has topics of it
  2  wrong input: no kubeconfig, no such store, a wrong option
  3  the store gave no answer

examples:
  topicschema storage bench
  kubectl -n topicschema-system exec deploy/topicschema-controller -- topicschema storage bench"""
_OF_CLUSTER: Final = """NAME is a TopicSchema, or a topic as persistent://TENANT/NAMESPACE/TOPIC. The command reads the
cluster of KUBECONFIG, or of the pod, and changes nothing (docs/cli.md#topics-in-a-cluster).

exit codes:
  0  {yes}
  1  {no}
  2  wrong input: no kubeconfig, a wrong option
  3  the cluster or the registry gave no answer, or the record is damaged

examples:
"""
_ABSENT: Final = "no such topic or version, or its text is not readable"
_OF_TOPICS: Final = {
    "get": (
        "print a version of a topic's schema, with its text",
        _OF_CLUSTER.format(yes="printed", no=_ABSENT)
        + """  topicschema get orders-created
  topicschema get orders-created --version 2 -o text > v2.avsc
  topicschema get persistent://shop/orders/created -n shop -o json""",
    ),
    "history": (
        "list the versions of a topic",
        _OF_CLUSTER.format(yes="printed", no=_ABSENT)
        + """  topicschema history orders-created
  topicschema history orders-created -n shop --context prod -o json""",
    ),
    "diff": (
        "print the changes between two versions of a topic, and whom they break",
        _OF_CLUSTER.format(
            yes="consumers with either version read all messages of the other", no=f"they do not; or {_ABSENT}"
        )
        + """  topicschema diff orders-created
  topicschema diff orders-created 2
  topicschema diff orders-created 2 5 -o json""",
    ),
    "why": (
        "print why a TopicSchema is not Ready, and what to do",
        _OF_CLUSTER.format(yes="it is Ready", no="it is not Ready; or there is no such TopicSchema")
        + """  topicschema why orders-created
  topicschema why persistent://shop/orders/created -n shop""",
    ),
}
_REPORT: Final = """examples:
  topicschema report report.json -o report.html
  kubectl get configmap NAME -o 'jsonpath={.data.report\\.json}' | topicschema report - > report.html"""
_VALIDATE_MESSAGES: Final = """MESSAGES are files or folders of Parquet, Avro containers or JSON lines, locally or at
URIs of pyarrow's file systems (s3://...). With --pulsar, MESSAGES is the full name of a topic with
retained messages.

exit codes:
  0  the messages pass
  1  the messages do not pass
  2  wrong input: an invalid schema, a wrong option, an invalid name
  3  the run failed, without a verdict: missing or unreadable messages, an
     unreachable broker

examples:
  topicschema validate-messages --schema v2.avsc --history v0.avsc --history v1.avsc orders.parquet
  topicschema validate-messages --schema orders.yaml --history v0.avsc --report report.json s3://archive/orders
  topicschema validate-messages --schema v2.avsc --history v1.avsc --writers --since 168h \\
    --pulsar http://broker:8080 pulsar://broker:6650 persistent://shop/orders/created"""
_AUDIT: Final = """The tables are in DIR/tables (docs/audit.md). A later audit with the same DIR and the same options
reads only new messages. It needs topicschema[spark] and Java.

exit codes:
  0  the tables are written
  2  wrong input: a wrong option, an invalid file, no Spark or no Java
  3  the audit failed, and the tables are as they were: an unreachable broker, an
     unreadable file, an error of Spark

examples:
  topicschema audit --registry-file registry.yaml --namespace 'shop/*' --output audit
  topicschema audit --registry-file registry.yaml --namespace shop/orders --since 7d \\
    --proposed FULL_TRANSITIVE --page audit.html --output audit
  topicschema audit --files orders/ --history v0.avsc --history v1.avsc --output audit"""
_EXTRACT: Final = """SOURCE is MODULE:CLASS of Python, or a file: .avsc, .proto, or one that check takes. --jar and
--classname name a class of Java. Pulsar's own client makes the schema of a class: the one of the
python3 on the PATH, or the one of the class path, run by the java on the PATH (docs/cli.md#extract).

exit codes:
  0  printed
  1  it is no schema
  2  wrong input: no such class or client, an unreadable file, a wrong option

examples:
  topicschema extract shop.orders:Order
  topicschema extract --jar orders.jar --jar 'dependency/*' --classname shop.Order --type JSON
  topicschema extract -o manifest --topic persistent://shop/orders/created -I protos protos/order.proto"""
_CLIENTS_ONLY: Final = frozenset({SchemaType.AUTO_CONSUME, SchemaType.AUTO_PUBLISH})
_PAYLOAD_EXITS: Final = """exit codes:
  0  {yes}
  1  {no}
  2  wrong input: an unreadable file, an invalid schema, a wrong option

examples:
"""
_PAYLOAD_COMMANDS: Final = {
    "decode": (
        "print the value of a payload as JSON",
        _PAYLOAD_EXITS.format(yes="the value is printed", no="the bytes are no payload of the schema")
        + """  topicschema decode --schema order.avsc message.bin
  echo 089601 | topicschema decode --schema order.proto --hex -
  topicschema decode --schema v2.avsc --writer v1.avsc message.bin""",
    ),
    "encode": (
        "write the payload of a JSON value",
        _PAYLOAD_EXITS.format(yes="the payload is written", no="the value does not match the schema")
        + """  echo '{"id": 1}' | topicschema encode --schema order.avsc -o message.bin -
  echo '"2026-01-31"' | topicschema encode --type LOCAL_DATE --hex -""",
    ),
    "validate": (
        "check whether bytes are a payload of a schema, and if not, where and why",
        _PAYLOAD_EXITS.format(yes="valid", no="invalid")
        + """  topicschema validate --schema order.avsc message.bin
  topicschema validate --type JSON --schema order.avsc -o json message.json""",
    ),
}


def parser(kind: type[argparse.ArgumentParser] = argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Return the parser of the whole command line. A parsed command has a `module`, imported for its `run(options)`."""
    top = kind(prog="topicschema", description=_DESCRIPTION)
    top.add_argument("--version", action="version", version=f"topicschema {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _check(_command(commands, "check", "check whether a schema may follow earlier ones", epilog=_CHECK))
    text = "check whether a client may connect, and with which version"
    _can_connect(_command(commands, "can-connect", text, epilog=_CAN_CONNECT))
    _fingerprint(_command(commands, "fingerprint", "print the fingerprint of a schema: equal schemas have equal ones"))
    _explain(_command(commands, "explain", "explain a rule, or a reason of a condition or Event, and what to do"))
    _manifest(_command(commands, "manifest", "print the TopicSchema manifest for a schema's file"))
    _extract(_command(commands, "extract", "print the schema of a class or of a file", _EXTRACT))
    _command(commands, "export", "print the uploads for a broker that lost a topic's versions", _EXPORT)
    _backup(_command(commands, "backup", "write the operator's record of all versions to a file", _BACKUP))
    _restore(_command(commands, "restore", "restore the operator's record from a file", _RESTORE))
    _storage(_command(commands, "storage", "copy the operator's record to another store, or measure a store"))
    for name, (text, epilog) in _PAYLOAD_COMMANDS.items():
        _payload(_command(commands, name, text, epilog), name)
    text = "check whether a schema can read existing messages"
    _validate_messages(_command(commands, "validate-messages", text, _VALIDATE_MESSAGES))
    _audit(_command(commands, "audit", "write tables of the retained messages of Pulsar namespaces", _AUDIT))
    for name, (text, epilog) in _OF_TOPICS.items():
        _topic(_command(commands, name, text, epilog), name)
    _report(_command(commands, "report", "write a validation's report as an HTML page", _REPORT))
    _completion(_command(commands, "completion", "print the completion script for a shell"))
    for name, (module, text) in _PROCESSES.items():
        process = commands.add_parser(name, help=text, description=text)
        process.set_defaults(module=f"topicschema.{module}", is_process=True)
    return top


def _command(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, text: str, epilog: str | None = None
) -> argparse.ArgumentParser:
    command = commands.add_parser(name, help=text, description=text, epilog=epilog, formatter_class=_AS_WRITTEN)
    command.set_defaults(module=module_of(name), is_process=False)
    return command


def module_of(command: str) -> str:
    """Return the name of the command's module; that of a keyword, such as `import`, ends with an underscore."""
    name = command.replace("-", "_")
    return f"topicschema.cli.commands.{name}_" if iskeyword(name) else f"topicschema.cli.commands.{name}"


def _check(command: argparse.ArgumentParser) -> None:
    _schema_options(command)
    _proto_options(command)
    _topic_options(command, "github", "junit")
    _history_type(command, "that of the schema")
    command.add_argument(
        "--strictness",
        default=Strictness.BROKER.value,
        **_one_of(_names(Strictness)),
        help="Broker (default): exactly the broker's verdict. Strict: reject what consumers would lose, too",
    )
    command.add_argument(
        "--batch",
        action="store_true",
        help="read JSON lines from standard input, and write one response for each (docs/cli.md)",
    )
    source = command.add_mutually_exclusive_group()
    source.add_argument(
        "--git",
        metavar="REF",
        help="compare the manifests with the versions that they had in the first-parent history of REF",
    )
    source.add_argument(
        "--live", action="store_true", help="ask the cluster of the kubeconfig by a dry run, and change nothing"
    )
    command.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="manifests and folders of manifests, or the file of one schema; a primitive type needs none",
    )


def _can_connect(command: argparse.ArgumentParser) -> None:
    # One parser for each: argparse accepts no SCHEMA after options that follow another positional.
    clients = command.add_subparsers(dest="client", required=True, metavar="CLIENT")
    for name in ("producer", "consumer", "reader"):
        text = f"check whether a {name} may connect"
        _client(clients.add_parser(name, help=text, description=text, epilog=_CAN_CONNECT, formatter_class=_AS_WRITTEN))


def _client(command: argparse.ArgumentParser) -> None:
    _schema_options(command, AUTO_PRODUCE)
    _proto_options(command)
    _topic_options(command)
    _history_type(command, "the client's, or AVRO if a topic cannot store it")
    command.add_argument("--no-auto-update", action="store_true", help="isAllowAutoUpdateSchema is false")
    command.add_argument("--enforced", action="store_true", help="schemaValidationEnforced is true")
    use = command.add_mutually_exclusive_group()
    use.add_argument(
        "--topic-active",
        action="store_const",
        const=True,
        dest="is_in_use",
        help="the topic has producers, other consumers or messages; a topic with a schema always counts as active",
    )
    use.add_argument(
        "--topic-inactive",
        action="store_const",
        const=False,
        dest="is_in_use",
        help="the topic has no producers, other consumers or messages (default)",
    )
    command.add_argument("schema", nargs="?", metavar="SCHEMA", help="file of the client's schema; - is standard input")


def _history_type(command: argparse.ArgumentParser, default: str) -> None:
    command.add_argument(
        "--history-type",
        **_one_of(_names(SchemaType)),
        metavar="TYPE",
        help=f"type of the earlier versions (default: {default})",
    )


def _fingerprint(command: argparse.ArgumentParser) -> None:
    _schema_options(command)
    _proto_options(command)
    command.add_argument("file", metavar="FILE", help="file of the schema, or a manifest; - is standard input")


def _explain(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "names",
        nargs="*",
        metavar="RULE|REASON",
        help="ids of rules (TYPE_MISMATCH), or reasons of conditions or Events (HistoryLost); default: list all",
    )


def _manifest(command: argparse.ArgumentParser) -> None:
    _manifest_options(command, needs_topic=True)
    command.add_argument("file", nargs="?", metavar="FILE", help="file of the schema; a primitive type needs none")
    command.add_argument("more_imported", nargs="*", metavar="IMPORTED", help="files that FILE imports, as --import")


def _manifest_options(command: argparse.ArgumentParser, *, needs_topic: bool) -> None:
    _schema_options(command)
    _proto_options(command)
    command.add_argument(
        "--property", action="append", default=[], metavar="NAME=TEXT", help="a property of the schema; repeatable"
    )
    command.add_argument("--topic", required=needs_topic, metavar="TOPIC", help="persistent://TENANT/NAMESPACE/TOPIC")
    command.add_argument("--namespace", metavar="NAMESPACE", help="Kubernetes namespace of the resource")
    command.add_argument("--name", metavar="NAME", help="name of the resource (default: from the topic)")
    command.add_argument(
        "--verbatim",
        action="store_true",
        help="keep the file's bytes; default: indent JSON that is hard to read as YAML",
    )


def _extract(command: argparse.ArgumentParser) -> None:
    _manifest_options(command, needs_topic=False)
    command.add_argument(
        "-o",
        "--output",
        choices=("upload", "manifest", "text"),
        default="upload",
        help="upload (default): the payload of pulsar-admin schemas upload; manifest: a TopicSchema, for which --topic "
        "is needed; text: the schema alone",
    )
    command.add_argument(
        "--jar",
        action="append",
        default=[],
        metavar="CLASSPATH",
        help="jars with the class and with Pulsar's client, as for java -cp; repeatable",
    )
    command.add_argument("--classname", metavar="CLASS", help="full name of the class in the jars")
    command.add_argument(
        "--always-allow-null",
        choices=("true", "false"),
        default="true",
        help="of --jar: whether fields of objects may be null (default: true)",
    )
    command.add_argument(
        "--jsr310", action="store_true", help="of --jar: dates and times of java.time by their own logical types"
    )
    command.add_argument("file", nargs="?", metavar="SOURCE", help="MODULE:CLASS of Python, or the file of a schema")
    command.set_defaults(more_imported=[])


def _payload(command: argparse.ArgumentParser, name: str) -> None:
    _proto_options(command)
    _payload_schema(command)
    _payload_form(command)
    _PAYLOAD_OPTIONS[name](command)


def _payload_schema(command: argparse.ArgumentParser) -> None:
    _type_option(command, tuple(each.value for each in SchemaType if each not in _CLIENTS_ONLY))
    command.add_argument("--schema", metavar="FILE", help="file of the schema; a primitive type needs none")
    command.add_argument(
        "--property",
        action="append",
        default=[],
        metavar="NAME=TEXT",
        help="a property of the schema, for instance key.schema.type=STRING of a KEY_VALUE; repeatable",
    )
    _pulsar_version_option(command, "reads the schema")


def _payload_form(command: argparse.ArgumentParser) -> None:
    form = command.add_mutually_exclusive_group()
    form.add_argument("--hex", action="store_true", help="payload and key are hexadecimal text")
    form.add_argument("--base64", action="store_true", help="payload and key are base64 text")
    command.add_argument("--key", metavar="FILE", help="file of the message's key, for a SEPARATED KEY_VALUE")


def _payload_reading(command: argparse.ArgumentParser) -> None:
    command.add_argument("--writer", metavar="FILE", help="AVRO: the version that wrote the message")
    command.add_argument("payload", metavar="PAYLOAD", help="file of the payload; - is standard input")


def _encode(command: argparse.ArgumentParser) -> None:
    command.add_argument("-o", "--output", metavar="FILE", help="file for the payload (default: standard output)")
    command.add_argument("value", metavar="VALUE", help="file with the value as JSON; - is standard input")


def _validate(command: argparse.ArgumentParser) -> None:
    command.add_argument("-o", "--output", choices=("text", "json"), default="text", help="text (default) or json")
    _payload_reading(command)


_PAYLOAD_OPTIONS: Final = {"decode": _payload_reading, "encode": _encode, "validate": _validate}


def _validate_messages(command: argparse.ArgumentParser) -> None:
    _schema_options(command)
    _proto_options(command)
    command.add_argument(
        "--schema", metavar="FILE", help="file of the proposed schema, or a TopicSchema manifest (.yaml)"
    )
    command.add_argument(
        "--history",
        action="append",
        default=[],
        metavar="FILE",
        help="a version that wrote messages; repeatable, oldest first",
    )
    command.add_argument(
        "--first-version", type=_whole, default=0, metavar="N", help="number of the first --history (default: 0)"
    )
    command.add_argument(
        "--written-with", type=_whole, metavar="N", help="version of messages in files that do not name one"
    )
    command.add_argument(
        "--property", action="append", default=[], metavar="NAME=TEXT", help="a property of all schemas; repeatable"
    )
    command.add_argument(
        "--history-message",
        metavar="MESSAGE",
        help="root message of earlier .proto files, if it differs from --message",
    )
    _messages_source(command)
    _messages_sample(command)
    _messages_answer(command)
    command.add_argument("messages", nargs="+", metavar="MESSAGES", help="files, folders, or with --pulsar a topic")


def _messages_source(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--format", choices=("parquet", "avro", "json"), help="format of the files (default: by their extensions)"
    )
    command.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="WHAT=NAME",
        help="column with payload, key, schema_version, publish_time or partition; for JSON, payload= is the line",
    )
    command.add_argument("--pulsar", nargs=2, metavar=("ADMIN_URL", "SERVICE_URL"), help="read a topic of this broker")
    for name, text in _CREDENTIALS.items():
        command.add_argument(f"--{name}", metavar="FILE", help=text)


def _audit(command: argparse.ArgumentParser) -> None:
    command.add_argument("--output", required=True, metavar="DIR", help="folder for the tables and the checkpoint")
    command.add_argument("--registry-file", metavar="FILE", help="manifest of the SchemaRegistry; - is standard input")
    command.add_argument(
        "--namespace",
        action="append",
        default=[],
        metavar="NAMESPACE",
        help="Pulsar namespace, for instance shop/orders or 'shop/*'; repeatable",
    )
    command.add_argument("--since", type=_since, metavar="TIME", help="only messages of the last 90m, 168h or 7d")
    command.add_argument(
        "--proposed",
        default="current",
        metavar="STRATEGY",
        help="compare the current schema with the versions that have messages: under a strategy by Pulsar's name, or "
        "strict; current (default) compares no schemas",
    )
    command.add_argument(
        "--format", dest="table_format", default="parquet", metavar="FORMAT", help="format of the tables (parquet)"
    )
    command.add_argument("--page", metavar="FILE", help="file for an HTML page of the tables; - is standard output")
    for name, text in {**_CREDENTIALS, "oauth2-secret-file": "client secret of OAuth 2.0"}.items():
        command.add_argument(f"--{name}", metavar="FILE", help=text)
    command.add_argument("--token-variable", metavar="NAME", help="environment variable with a token for the broker")
    command.add_argument("--files", nargs="+", metavar="FILE", help="files or folders with messages, and no broker")
    command.add_argument(
        "--history", action="append", default=[], metavar="FILE", help="of --files: a version; repeatable, oldest first"
    )
    command.add_argument(
        "--schema", metavar="FILE", help="of --files: file of the current schema (default: the last --history)"
    )
    _type_option(command, _names(SchemaType))
    command.add_argument(
        "--written-with", type=_whole, metavar="N", help="of --files: version of messages that do not name one"
    )
    command.add_argument(
        "--file-format", choices=("parquet", "avro", "json"), help="of --files: format (default: by their extensions)"
    )
    command.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="WHAT=NAME",
        help="of --files: a column, as in validate-messages",
    )


_CREDENTIALS: Final = {
    "token-file": "token for the broker",
    "certificate-file": "client certificate, in PEM",
    "key-file": "private key of the client certificate, in PEM",
    "ca-file": "CA certificates for the broker's certificate, in PEM",
}


def _messages_sample(command: argparse.ArgumentParser) -> None:
    command.add_argument("--max-messages", type=_positive, metavar="N", help="judge about N messages")
    command.add_argument("--percent", type=_positive, default=100, metavar="P", help="judge P percent of the messages")
    command.add_argument("--since", type=_since, metavar="TIME", help="judge messages of the last 90m, 168h or 7d")
    command.add_argument(
        "--seed", type=_whole, default=0, metavar="N", help="seed of the sample: the same seed takes the same messages"
    )


def _messages_answer(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--tolerance",
        type=_whole,
        default=0,
        metavar="N",
        help="how many messages in a million may be invalid (default: 0)",
    )
    command.add_argument("--include-values", action="store_true", help="include values in the examples")
    command.add_argument("--writers", action="store_true", help="print how many messages each version wrote, and when")
    command.add_argument(
        "--report",
        metavar="FILE",
        help="file for the report as JSON, of which `topicschema report` makes a page; - is standard output",
    )
    command.add_argument(
        "--processes",
        type=_positive,
        metavar="N",
        help="number of processes (default: up to four, if there are enough messages)",
    )


def _whole(text: str) -> int:
    return _number(text, 0)


def _positive(text: str) -> int:
    return _number(text, 1)


def _number(text: str, least: int) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > _DIGITS or int(text) < least:
        raise argparse.ArgumentTypeError(f"write a whole number from {least} on, not {text[:40]!r}")
    return int(text)


_DIGITS: Final = 18
_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def _since(text: str) -> int:
    if text[-1:] not in _UNITS or not text[:-1].isdecimal():
        raise argparse.ArgumentTypeError("write 90m, 168h or 7d")
    return _positive(text[:-1]) * _UNITS[text[-1]]


def _topic(command: argparse.ArgumentParser, name: str) -> None:
    command.add_argument("topic", metavar="TOPIC|NAME", help="name of the TopicSchema, or the topic")
    if name == "get":
        command.add_argument(
            "--version", type=_whole, metavar="N", help="version (default: that of the spec, or latest)"
        )
    if name == "diff":
        command.add_argument(
            "earlier", nargs="?", type=_whole, metavar="N", help="earlier version (default: the one before M)"
        )
        command.add_argument("later", nargs="?", type=_whole, metavar="M", help="later version (default: the latest)")
        _pulsar_version_option(command, "judges")
    forms = ("text", "json", "yaml", *(() if name == "diff" else ("name",)))
    default = "yaml" if name == "get" else "text"
    of_text = ", text is the schema's text alone" if name == "get" else ""
    command.add_argument(
        "-o",
        "--output",
        choices=forms,
        default=default,
        help=f"one of {', '.join(forms)} (default: {default}){of_text}",
    )
    command.add_argument("-n", "--namespace", metavar="NAMESPACE", help="namespace (default: that of the context)")
    command.add_argument("--context", metavar="CONTEXT", help="context of the kubeconfig (default: the current one)")
    command.add_argument(
        "--operator-namespace",
        default=_SYSTEM,
        metavar="NAMESPACE",
        help="the operator's namespace, whose record is read if you may (default: %(default)s)",
    )
    if name in ("get", "diff"):
        command.add_argument(
            "--registry-url",
            metavar="URL",
            help="URL of the registry's REST API, for users who may not read the record (default: "
            "TOPICSCHEMA_REGISTRY_URL)",
        )
        command.add_argument(
            "--token-file", metavar="FILE", help="token for the registry (default: that of the kubeconfig)"
        )


def _report(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "-o", "--output", default="-", metavar="FILE", help="file for the page (default: standard output)"
    )
    command.add_argument("file", metavar="FILE", help="report.json of the run; - is standard input")


def _completion(command: argparse.ArgumentParser) -> None:
    command.add_argument("shell", choices=("bash", "zsh"), help="source <(topicschema completion bash)")


def _topic_options(command: argparse.ArgumentParser, *outputs: str) -> None:
    command.add_argument(
        "--strategy",
        default=Strategy.UNDEFINED.value,
        **_one_of(_names(Strategy)),
        metavar="STRATEGY",
        help="schema compatibility strategy, by Pulsar's name (default: the broker's own, FULL)",
    )
    command.add_argument(
        "--history",
        action="append",
        default=[],
        metavar="FILE",
        help="an earlier version; repeatable, oldest first; - is standard input",
    )
    command.add_argument(
        "--history-message",
        metavar="MESSAGE",
        help="root message of earlier .proto files, if it differs from --message",
    )
    command.add_argument(
        "--property",
        action="append",
        default=[],
        metavar="NAME=TEXT",
        help="a property of all given schemas, for instance key.schema.type=STRING of a KEY_VALUE; repeatable",
    )
    forms = ("text", "json", *outputs)
    help_ = f"one of {', '.join(forms)} (default: text)"
    command.add_argument("-o", "--output", choices=forms, default="text", help=help_)


def _schema_options(command: argparse.ArgumentParser, *more: str) -> None:
    _type_option(command, (*_names(SchemaType), *more))
    _pulsar_version_option(command, "judges")


def _type_option(command: argparse.ArgumentParser, types: tuple[str, ...]) -> None:
    command.add_argument(
        "--type",
        **_one_of(types),
        metavar="TYPE",
        help="schema type, by Pulsar's name (default: AVRO, or PROTOBUF_NATIVE for .proto files)",
    )


def _pulsar_version_option(command: argparse.ArgumentParser, purpose: str) -> None:
    command.add_argument(
        "--pulsar-version",
        default=NEWEST.value,
        choices=_names(PulsarVersion),
        help=f"Pulsar version that {purpose} (default: {NEWEST}, the newest)",
    )


def _proto_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--message",
        metavar="MESSAGE",
        help="full name of the root message of .proto files; required if a file has several",
    )
    command.add_argument(
        "-I",
        action="append",
        default=[],
        dest="folders",
        metavar="DIR",
        help="a folder that names and imports of .proto files are relative to; repeatable",
    )
    command.add_argument(
        "--import",
        action="append",
        default=[],
        dest="imported",
        metavar="FILE",
        help="a file that .proto files import, in any place; repeatable",
    )


def _backup(command: argparse.ArgumentParser) -> None:
    _operator_namespace(command)
    command.add_argument(
        "-o", "--output", metavar="FILE", help="write to FILE, with %%Y, %%m, %%d, %%H as in strftime, in UTC"
    )


def _restore(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", metavar="FILE", help="a backup, - for standard input")
    _operator_namespace(command)
    _as_user(command)


def _storage(command: argparse.ArgumentParser) -> None:
    actions = command.add_subparsers(dest="action", required=True, metavar="ACTION")
    text = "copy the whole record to another store, and compare both"
    copy = actions.add_parser("copy", help=text, description=text, epilog=_STORAGE_COPY, formatter_class=_AS_WRITTEN)
    stores = ("kubernetes", "postgresql")
    copy.add_argument("source", metavar="FROM", choices=stores, help="store to read: kubernetes or postgresql")
    copy.add_argument("target", metavar="TO", choices=stores, help="store to write: the other one")
    text = "measure how fast the configured store is, with topics that are removed again"
    bench = actions.add_parser("bench", help=text, description=text, epilog=_STORAGE_BENCH, formatter_class=_AS_WRITTEN)
    bench.add_argument("--remove", action="store_true", help="only remove the topics that a killed run left")
    forms = ("text", "json")
    bench.add_argument("-o", "--output", choices=forms, default="text", help="text or json (default: text)")
    for each in (copy, bench):
        _operator_namespace(each)
        _as_user(each)


def _as_user(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--as", dest="user", metavar="USER", help="account that writes; default: the controller's service account"
    )


def _operator_namespace(command: argparse.ArgumentParser) -> None:
    command.add_argument("-n", "--namespace", default=_SYSTEM, help="the operator's namespace (default: %(default)s)")


def _one_of(names: tuple[str, ...]) -> dict[str, Any]:
    """Return the arguments of an option that takes one of these names. An error names the right one of another case."""

    def read(text: str) -> str:
        right = next((each for each in names if each.casefold() == text.casefold()), text)
        if right != text:
            raise argparse.ArgumentTypeError(f"write {right}, not {text!r}")
        if text == EXTERNAL and SchemaType.AVRO in names:
            raise argparse.ArgumentTypeError("EXTERNAL, a type of Pulsar 4.1 and later, is not supported")
        return text

    return {"type": read, "choices": names}


def _names(names: type[StrEnum]) -> tuple[str, ...]:
    return tuple(each.value for each in names)  # the error about a wrong one lists them as they are written
