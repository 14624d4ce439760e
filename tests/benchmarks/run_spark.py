"""Ours in the benchmark of Spark on topics: the session of `topicschema audit`, in a process of its own.

A line on standard input is a round, a JSON array of the options and the folder of an audit. Without a folder, the round
counts the messages by version. Its seconds and its number of messages are printed.
"""

import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from topicschema.cli.audit.session import local_session
from topicschema.spark import PulsarMessages
from topicschema.spark.audit import audit


def main() -> None:
    """Serve rounds until standard input ends."""
    with local_session() as session:
        session.dataSource.register(PulsarMessages)
        for line in sys.stdin:
            options, folder = json.loads(line)
            start = time.perf_counter()
            count = _counted(session, options) if folder is None else audit(session, options, Path(folder)).messages
            print(json.dumps([time.perf_counter() - start, count]), flush=True)


def _counted(session: SparkSession, options: Mapping[str, str]) -> int:
    rows = session.read.format("pulsar-messages").options(columns="schema_version", **options).load()
    return sum(row[1] for row in rows.groupBy("schema_version").count().collect())


if __name__ == "__main__":
    main()
