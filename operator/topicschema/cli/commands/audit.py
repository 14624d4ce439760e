"""`topicschema audit`: tables of what the retained messages of Pulsar namespaces are."""

import sys
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from topicschema.cli.audit import options as audit_options
from topicschema.cli.audit.session import local_session, progress
from topicschema.cli.check.excerpt import printable
from topicschema.cli.exits import COMPATIBLE, NO_ANSWER
from topicschema.cli.inputs.files import STANDARD_INPUT, UsageError, demand_writable, write
from topicschema.cli.validate_messages.output import ProgressBar
from topicschema.core.errors import StalledError, TopicSchemaError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from topicschema.spark.audit import AuditResult

_FINDINGS: Final = 20
_UNREAD: Final = 20


def run(options: Namespace) -> int:
    """Write the tables, and print the worst findings."""
    values = audit_options.options_of(options)
    page = options.page
    demand_writable(page)
    output = Path(options.output)
    try:
        with local_session() as session:
            result = _audit(session, values, output, options)
            if page is not None:
                from topicschema.spark.audit.page import page_of  # noqa: PLC0415  # needs Spark

                write(page, page_of(session, output, options.table_format))
            if page != STANDARD_INPUT:
                print("\n".join(_lines(session, result, output, options.table_format)))
    except StalledError as error:
        raise UsageError(error.message) from None
    except TopicSchemaError as error:
        print(f"topicschema audit: the audit failed: {error.message}", file=sys.stderr)
        return NO_ANSWER
    return COMPATIBLE


def _audit(session: "SparkSession", values: Any, output: Path, options: Namespace) -> "AuditResult":
    try:
        from topicschema.spark.audit import audit  # noqa: PLC0415  # numpy and Arrow, which are optional
    except ImportError as error:
        raise UsageError(f"{error.name} is missing: pip install 'topicschema[spark]'") from None
    bar = ProgressBar(sys.stderr, "tasks")
    try:
        with progress(session, bar):
            return audit(session, values, output, proposed=options.proposed, table_format=options.table_format)
    finally:
        bar.clear()


def _lines(session: "SparkSession", result: "AuditResult", output: Path, table_format: str) -> Iterator[str]:
    from topicschema.spark.audit.application import worst_findings  # noqa: PLC0415  # as above

    read = "only new messages were read" if result.is_continued else "all messages were read"
    topics = "1 topic" if result.topics == 1 else f"{result.topics:,} topics"
    yield f"{topics}, {result.messages:,} messages, {result.bad:,} of them with a fault ({read})"
    listed = worst_findings(session, output, _FINDINGS + 1, table_format)
    if listed:
        yield ""
    for row in listed[:_FINDINGS]:
        version = "no version" if row.schema_version is None else f"version {row.schema_version}"
        yield f"{row.messages:>12,}  {row.rule or row.reason} at {printable(row.path)}"
        yield f"{'':14}{printable(row.topic)}, {version}"
    if len(listed) > _FINDINGS:
        yield "… more in the table findings"
    if result.unread:
        yield ""
        yield f"{len(result.unread):,} topics could not be read:"
    for name, error in list(result.unread.items())[:_UNREAD]:
        yield f"  {printable(name)}: {printable(error)}"
    if len(result.unread) > _UNREAD:
        yield "… more in the table topics"
    yield ""
    yield f"Tables: {printable(str(output / 'tables'))}"
