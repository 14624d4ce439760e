"""Options of `validate-messages`. Imports nothing that the command needs for its work."""

import argparse
from typing import Final

SUMMARY: Final = "check whether a schema can read existing messages"
EPILOG: Final = """MESSAGES are files or folders of Parquet, Avro containers or JSON lines, locally or at URIs of
pyarrow's file systems (s3://...). With --pulsar, MESSAGES is the full name of a topic with retained messages.

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


def add(command: argparse.ArgumentParser) -> None:
    """Adds the options that the command alone has."""
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
    _source(command)
    _sample(command)
    _answer(command)
    command.add_argument("messages", nargs="+", metavar="MESSAGES", help="files, folders, or with --pulsar a topic")


def _source(command: argparse.ArgumentParser) -> None:
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


_CREDENTIALS: Final = {
    "token-file": "token for the broker",
    "certificate-file": "client certificate, in PEM",
    "key-file": "private key of the client certificate, in PEM",
    "ca-file": "CA certificates for the broker's certificate, in PEM",
}


def _sample(command: argparse.ArgumentParser) -> None:
    command.add_argument("--max-messages", type=_positive, metavar="N", help="judge about N messages")
    command.add_argument("--percent", type=_positive, default=100, metavar="P", help="judge P percent of the messages")
    command.add_argument("--since", type=_seconds, metavar="TIME", help="judge messages of the last 90m, 168h or 7d")
    command.add_argument(
        "--seed", type=_whole, default=0, metavar="N", help="seed of the sample: the same seed takes the same messages"
    )


def _answer(command: argparse.ArgumentParser) -> None:
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


def _seconds(text: str) -> int:
    if text[-1:] not in _UNITS or not text[:-1].isdecimal():
        raise argparse.ArgumentTypeError("write 90m, 168h or 7d")
    return _positive(text[:-1]) * _UNITS[text[-1]]
