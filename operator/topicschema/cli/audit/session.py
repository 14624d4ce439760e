"""Spark on this machine, for `topicschema audit`, with the progress of its tasks."""

import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from topicschema.cli.inputs.files import UsageError
from topicschema.validation.run.session import AUDIT_SETTINGS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_POLL_SECONDS: Final = 0.5
_LOOPBACK: Final = "127.0.0.1"
_SETTINGS: Final = {
    **AUDIT_SETTINGS,
    "spark.master": "local[*,4]",  # all cores, and four attempts of a task, as on a cluster
    "spark.driver.host": _LOOPBACK,
    "spark.driver.bindAddress": _LOOPBACK,
}

_NO_LOG: Final = """rootLogger.level = off
rootLogger.appenderRef.none.ref = none
appender.none.type = Null
appender.none.name = none
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = off
"""
"""Configuration of Log4j. Without an appender Spark uses its own one, and its gateway announces another level."""


@contextmanager
def local_session() -> Iterator["SparkSession"]:
    """Yield a SparkSession on all cores. Raises UsageError if Spark or Java is missing."""
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415  # optional
        from pyspark.sql.streaming import datasource  # noqa: F401, PLC0415  # since Spark 4.2
    except ImportError:
        raise UsageError("Spark 4.2 or newer is missing: pip install 'topicschema[spark]'") from None
    if _java() is None:
        raise UsageError("Java is missing, on which Spark runs: install a JDK 17 or newer, or set JAVA_HOME")
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": _LOOPBACK}
    with TemporaryDirectory(prefix="topicschema-audit-") as folder:
        logging = Path(folder) / "log4j2.properties"
        logging.write_text(_NO_LOG, encoding="ascii")
        builder = SparkSession.builder.config("spark.local.dir", folder)
        builder = builder.config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={logging.as_uri()}")
        builder = builder.config("spark.sql.warehouse.dir", str(Path(folder) / "warehouse"))
        for name, value in _SETTINGS.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        try:
            yield session
        finally:
            session.stop()


def _java() -> str | None:
    """Return the path of Java as Spark finds it."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")


@contextmanager
def progress(session: "SparkSession", report: Callable[[int, int], None]) -> Iterator[None]:
    """Report the completed tasks and all tasks of the current stages, twice a second."""
    tracker = session.sparkContext.statusTracker()
    is_over = threading.Event()

    def poll() -> None:
        while not is_over.wait(_POLL_SECONDS):
            with suppress(Exception):  # a bar is not worth an error
                stages = [tracker.getStageInfo(each) for each in tracker.getActiveStageIds()]
                known = [each for each in stages if each is not None]
                if known:
                    report(sum(each.numCompletedTasks for each in known), sum(each.numTasks for each in known))

    thread = threading.Thread(target=poll, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
