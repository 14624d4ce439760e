"""Options of `validate-messages`. Imports nothing that the command needs for its work."""

import argparse
from typing import Final

SUMMARY: Final = "check if retained messages can be read with a schema"
EPILOG: Final = """MESSAGES are files or folders of Parquet, Avro containers or JSON lines, local or in a file system
of pyarrow (s3://...). With --pulsar, MESSAGES is the full name of a topic, whose retained messages are read.

exit codes:
  0  the messages pass
  1  the messages do not pass
  2  wrong input: no schema, a wrong option, an invalid name
  3  the run failed without a verdict: messages are missing or cannot be read,
     or the broker is unreachable

examples:
  topicschema validate-messages --schema v2.avsc --history v0.avsc --history v1.avsc orders.parquet
  topicschema validate-messages --schema orders.yaml --history v0.avsc --page report.html s3://archive/orders
  topicschema validate-messages --schema v2.avsc --history v1.avsc --writers --since 168h \\
    --pulsar http://broker:8080 pulsar://broker:6650 persistent://shop/orders/created"""


def add(command: argparse.ArgumentParser) -> None:
    """Add the options that only this command has."""
    command.add_argument("--schema", metavar="FILE", help="the proposed schema, or a TopicSchema manifest (.yaml)")
    command.add_argument(
        "--history",
        action="append",
        default=[],
        metavar="FILE",
        help="a version that messages were written with; repeatable, oldest first",
    )
    command.add_argument(
        "--first-version", type=_whole, default=0, metavar="N", help="the number of the first --history (default: 0)"
    )
    command.add_argument(
        "--written-with", type=_whole, metavar="N", help="the version of messages in files without a schema version"
    )
    command.add_argument(
        "--property", action="append", default=[], metavar="NAME=TEXT", help="a property of all schemas; repeatable"
    )
    command.add_argument("--history-message", metavar="MESSAGE", help="like check, for .proto files")
    _source(command)
    _sample(command)
    _answer(command)
    command.add_argument("messages", nargs="+", metavar="MESSAGES", help="files, folders, or with --pulsar a topic")


def _source(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--format",
        choices=("parquet", "avro", "json"),
        help="format of the files (default: by their names' extensions)",
    )
    command.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="WHAT=NAME",
        help="the column of payload, key, schema_version, publish_time or partition; payload= of JSON is the line",
    )
    command.add_argument("--pulsar", nargs=2, metavar=("ADMIN_URL", "SERVICE_URL"), help="read a topic of this broker")
    for name, text in _CREDENTIALS.items():
        command.add_argument(f"--{name}", metavar="FILE", help=text)


_CREDENTIALS: Final = {
    "token-file": "the token for the broker",
    "certificate-file": "the client's certificate, in PEM",
    "key-file": "the client's private key, in PEM",
    "ca-file": "the authorities that sign the broker's certificate, in PEM",
}


def _sample(command: argparse.ArgumentParser) -> None:
    command.add_argument("--max-messages", type=_positive, metavar="N", help="validate a sample of about N messages")
    command.add_argument("--percent", type=_positive, default=100, metavar="P", help="validate a sample of P percent")
    command.add_argument("--since", type=_seconds, metavar="TIME", help="validate messages of the last 90m, 168h or 7d")
    command.add_argument(
        "--seed",
        type=_whole,
        default=0,
        metavar="N",
        help="seed of the sample; the same seed selects the same messages",
    )


def _answer(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--tolerance",
        type=_whole,
        default=0,
        metavar="N",
        help="invalid messages per million that still pass (default: 0)",
    )
    command.add_argument("--include-values", action="store_true", help="show the values of the examples")
    command.add_argument(
        "--writers", action="store_true", help="print the number of messages of each version, and their times"
    )
    command.add_argument("--report", metavar="FILE", help="write the report as JSON; - is standard output")
    command.add_argument("--page", metavar="FILE", help="write the report as HTML; - is standard output")
    command.add_argument(
        "--processes",
        type=_positive,
        metavar="N",
        help="number of processes (default: chosen by the number of messages)",
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
