"""Program of an audit's pod: `python -m topicschema.spark.audit.driver FOLDER` with the configuration in FOLDER.

The termination message is the AuditDocument, or the reason for a failure. The exit status is 0, or 3 for a known
reason.
"""

import json
import os
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs, urlsplit

from topicschema.api.audits import AuditFigures, AuditFinding
from topicschema.api.wire import decode
from topicschema.spark.audit.application import AuditResult, audit, read_table, worst_findings
from topicschema.spark.audit.folder import AuditFolder
from topicschema.spark.audit.page import page_of
from topicschema.validation.job.audits import CONFIG_FILE, AuditConfig, AuditDocument
from topicschema.validation.job.manifest import EXECUTOR_TEMPLATE, JOB_UID
from topicschema.validation.run import session
from topicschema.validation.run.program import ProgramEnd, end_at_signal, run_program

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LISTED: Final = 20
_CREDENTIALS: Final = "software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the audit and return the exit status."""
    return run_program(__doc__ or "", lambda folder: ProgramEnd(_audited(folder).text, 0), arguments)


def _audited(folder: Path) -> AuditDocument:
    config = decode(AuditConfig, json.loads((folder / CONFIG_FILE).read_text(encoding="utf-8")))
    with _session(config, folder) as spark:
        output = AuditFolder.create(config.output)
        job = os.environ.get(JOB_UID) or uuid.uuid4().hex
        before = output.unreadable_before(
            job, lambda: _invalid_topics(spark, config.output) if output.tables() is not None else ()
        )
        result = audit(spark, config.options, config.output, proposed=config.proposed.lower())
        with output.files.open_output_stream("audit.html") as file:
            file.write(page_of(spark, config.output).encode())
        now = _invalid_topics(spark, config.output)
        newly = sorted(now.keys() - before, key=lambda name: (-now[name], name))
        return AuditDocument(figures=_figures(spark, config.output, result), newly_invalid=tuple(newly[:_LISTED]))


@contextmanager
def _session(config: AuditConfig, folder: Path) -> "Iterator[SparkSession]":
    """Yield Spark with as many executors as its tasks need, up to the maximum, or without any in this process."""
    template = folder / EXECUTOR_TEMPLATE
    if config.max_executors:
        settings = session.dynamic_settings(config.max_executors, template)
    else:
        settings = {"spark.master": f"local[{session.cores_of(template)},4]", "spark.driver.host": "127.0.0.1"}
        settings["spark.driver.bindAddress"] = "127.0.0.1"
    with session.started(
        {**settings, **session.AUDIT_SETTINGS, **store_settings(config.output)}, config.event_log
    ) as spark:
        yield spark


def store_settings(uri: str) -> Mapping[str, str]:
    """Return the settings of Spark for a folder of an object store, with the options of the URI.

    The credentials are those of the pod's identity, as AWS' SDK finds them.
    """
    options = {name: values[-1] for name, values in parse_qs(urlsplit(uri).query).items()}
    settings = {"aws.credentials.provider": _CREDENTIALS}
    if "endpoint_override" in options:
        is_plain = options.get("scheme") == "http"
        settings["endpoint"] = f"{'http' if is_plain else 'https'}://{options['endpoint_override']}"
        settings |= {"path.style.access": "true", "connection.ssl.enabled": str(not is_plain).lower()}
    if "region" in options or "endpoint_override" in options:  # a store that is not Amazon's takes any region
        settings["endpoint.region"] = options.get("region", "us-east-1")
    return {f"spark.hadoop.fs.s3a.{name}": value for name, value in settings.items()}


def _invalid_topics(spark: "SparkSession", output: str) -> Mapping[str, int]:
    """Return the topics with messages that consumers cannot read, and the number of these messages."""
    rows = read_table(spark, output, "verdicts").where("unreadable > 0").select("topic", "unreadable").collect()
    return {row.topic: row.unreadable for row in rows}


def _figures(spark: "SparkSession", output: str, result: AuditResult) -> AuditFigures:
    return AuditFigures(
        topics=result.topics,
        messages=result.messages,
        invalid=result.bad,
        unread_topics=len(result.unread),
        findings=tuple(
            AuditFinding(
                topic=row.topic,
                schema_version=row.schema_version,
                rule=row.rule or row.reason,
                path=row.path[:1024],
                messages=row.messages,
            )
            for row in worst_findings(spark, output, _LISTED)
        ),
        tables=result.tables,
    )


if __name__ == "__main__":
    end_at_signal()
    sys.exit(main())
