"""Ours in the pipeline benchmark, in a process of its own: a run in Spark, Parquet in, report out.

Argument: the packed request. A line on standard input is a round: its seconds and the invalid messages are printed.
"""

import json
import sys
import time
from pathlib import Path

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from topicschema.validation import request
from topicschema.validation.run import runner, session
from topicschema.validation.sources.opening import source_of

SETTINGS = {
    "spark.master": "local[2]",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": session.SHORT_LIFE,
}


def main() -> None:
    """Serve rounds until standard input ends."""
    packed = request.read(Path(sys.argv[1]).read_bytes())
    context = SparkContext(conf=SparkConf().setAll(list(SETTINGS.items())))
    context.pythonExec = sys.executable
    context.setLogLevel("OFF")
    spark = SparkSession(context)
    for _ in sys.stdin:
        start = time.perf_counter()
        report = runner.run(packed, source_of(packed, 0), workers=spark)
        len(report.text)
        print(json.dumps([time.perf_counter() - start, report.document["invalid"]]), flush=True)


if __name__ == "__main__":
    main()
