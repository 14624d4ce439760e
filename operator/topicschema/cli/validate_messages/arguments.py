"""The options of `validate-messages`. Imports nothing that the command needs for its work."""

import argparse
from typing import Final

SUMMARY: Final = "can messages that are there already be read with a schema?"
EPILOG: Final = """MESSAGES are files or folders of Parquet, Avro containers or JSON lines, here or where pyarrow's file
systems reach (s3://...); or with --pulsar the full name of a topic, whose retained messages are read.

exit codes:
  0  they pass
  1  they do not
  2  wrong input: no schema, a wrong option, a name that is none
  3  the run failed: messages that are not there or cannot be read, a broker
     out of reach; nothing is said of the messages

examples:
  topicschema validate-messages --schema v2.avsc --history v0.avsc --history v1.avsc orders.parquet
  topicschema validate-messages --schema orders.yaml --history v0.avsc --page report.html s3://archive/orders
  topicschema validate-messages --schema v2.avsc --history v1.avsc --writers --since 168h \\
    --pulsar http://broker:8080 pulsar://broker:6650 persistent://shop/orders/created"""


def add(command: argparse.ArgumentParser) -> None:
    """Adds the options that the command alone has."""
    command.add_argument("--schema", metavar="FILE", help="the proposed schema, or a TopicSchema manifest (.yaml)")
    command.add_argument(
        "--history",
        action="append",
        default=[],
        metavar="FILE",
        help="a version that messages were written with; once for each, oldest first",
    )
    command.add_argument(
        "--first-version", type=_whole, default=0, metavar="N", help="the number of the first of them (default: 0)"
    )
    command.add_argument(
        "--written-with", type=_whole, metavar="N", help="the version of messages in files that name none"
    )
    command.add_argument(
        "--property", action="append", default=[], metavar="NAME=TEXT", help="a property of all schemas; once for each"
    )
    command.add_argument("--history-message", metavar="MESSAGE", help="as of check, for .proto files")
    _source(command)
    _sample(command)
    _answer(command)
    command.add_argument("messages", nargs="+", metavar="MESSAGES", help="files, folders, or with --pulsar a topic")


def _source(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--format", choices=("parquet", "avro", "json"), help="of the files; else by the ends of their names"
    )
    command.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="WHAT=NAME",
        help="the column that has payload, key, schema_version, publish_time or partition; payload= of JSON: the line",
    )
    command.add_argument("--pulsar", nargs=2, metavar=("ADMIN_URL", "SERVICE_URL"), help="read a topic of this broker")
    for name, text in _CREDENTIALS.items():
        command.add_argument(f"--{name}", metavar="FILE", help=text)


_CREDENTIALS: Final = {
    "token-file": "the token that the broker is shown",
    "certificate-file": "the client's certificate, in PEM",
    "key-file": "its private key, in PEM",
    "ca-file": "whom the broker's own certificate is trusted by, in PEM",
}


def _sample(command: argparse.ArgumentParser) -> None:
    command.add_argument("--max-messages", type=_positive, metavar="N", help="judge about so many of them")
    command.add_argument("--percent", type=_positive, default=100, metavar="P", help="judge so many in a hundred")
    command.add_argument("--since", type=_seconds, metavar="TIME", help="judge those of the last 90m, 168h or 7d")
    command.add_argument("--seed", type=_whole, default=0, metavar="N", help="the same takes the same messages")


def _answer(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--tolerance", type=_whole, default=0, metavar="N", help="how many in a million may be invalid (default: 0)"
    )
    command.add_argument("--include-values", action="store_true", help="show what is in the examples")
    command.add_argument("--writers", action="store_true", help="tell how many messages each version wrote, and when")
    command.add_argument("--report", metavar="FILE", help="write the whole report there, as JSON; - is standard output")
    command.add_argument("--page", metavar="FILE", help="the same as a page for people, in HTML; - is standard output")
    command.add_argument("--processes", type=_positive, metavar="N", help="judge in so many; else in as many as pays")


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
