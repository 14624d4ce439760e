"""A Spark of two threads on this machine. Each task may be tried four times, as on a cluster."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def open_session(folder: Path, **settings: str) -> Iterator[Any]:
    """Yield a SparkSession. Its files are in `folder`."""
    from pyspark import SparkConf, SparkContext  # noqa: PLC0415  # starts a JVM
    from pyspark.sql import SparkSession  # noqa: PLC0415

    plain = {
        "spark.master": "local[2,4]",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "512m",
        "spark.ui.enabled": "false",
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
    }
    context = SparkContext(conf=SparkConf().setAll(list((plain | settings).items())))
    context.pythonExec = sys.executable
    context.setLogLevel("OFF")
    yield SparkSession(context)
    context.stop()
