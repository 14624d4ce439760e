"""The anchor of the pipeline benchmark, run by a Python with PySpark 4.1 of its own: spark-avro's from_avro, counted.

Arguments: the class path of spark-avro, the Parquet file, and a JSON file with the reader's and the writers' texts. A
line on standard input is a round: its seconds, and how many messages could be read, are printed.
"""

import json
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as f
from pyspark.sql.avro.functions import from_avro


def main() -> None:
    """Serve rounds until standard input ends."""
    jars, messages, texts = sys.argv[1:]
    reader, *writers = json.loads(Path(texts).read_text(encoding="utf-8"))
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.jars", ",".join(map(str, Path(jars).glob("*.jar"))))
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "2g")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    options = {"avroSchema": reader, "mode": "PERMISSIVE"}
    for _ in sys.stdin:
        start = time.perf_counter()
        stored = spark.read.parquet(messages)
        read = f.when(f.lit(False), None)  # noqa: FBT003  # the name differs from what its types say
        for number, writer in enumerate(writers):
            read = read.when(f.col("schema_version") == number, from_avro(f.col("value"), writer, options))
        # An invalid message is null, or a record of nulls. Its first field shows that: no reader has it as null.
        (row,) = stored.select(f.count(read["id"])).collect()
        print(json.dumps([time.perf_counter() - start, row[0]]), flush=True)


if __name__ == "__main__":
    main()
