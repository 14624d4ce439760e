"""The data source `pulsar-verdicts` in the pipeline benchmark, in a process of its own: Parquet in, a table out.

Arguments: the Parquet file, and a JSON file with the reader's and the writers' texts. A line on standard input is a
round: its seconds and the invalid messages are printed.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from benchmarks.run_pipeline import SETTINGS
from topicschema.spark import PulsarVerdicts


def main() -> None:
    """Serve rounds until standard input ends."""
    messages, texts = sys.argv[1:]
    reader, *writers = json.loads(Path(texts).read_text(encoding="utf-8"))
    context = SparkContext(conf=SparkConf().setAll(list(SETTINGS.items())))
    context.pythonExec = sys.executable
    context.setLogLevel("OFF")
    spark = SparkSession(context)
    spark.dataSource.register(PulsarVerdicts)
    with tempfile.TemporaryDirectory() as folder:
        history = [Path(folder) / f"{number}.avsc" for number in range(len(writers))]
        for file, text in zip(history, writers, strict=True):
            file.write_text(text, encoding="utf-8")
        options = {"files": messages, "history": ",".join(map(str, history)), "schema": reader}
        for _ in sys.stdin:
            start = time.perf_counter()
            rows = spark.read.format("pulsar-verdicts").options(**options).load()
            counts = rows.groupBy("schema_version", "reason", "path").sum("messages").collect()
            invalid = sum(row[3] for row in counts if row.reason is not None)
            print(json.dumps([time.perf_counter() - start, invalid]), flush=True)


if __name__ == "__main__":
    main()
