"""Options of reads of a topic in Spark, and a stream that is run again and again."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from support.validation.topic_messages import RetainedTopic


def options(topic: RetainedTopic, **more: str) -> dict[str, str]:
    source = topic.pulsar_source
    selected = {} if {"namespace", "topicsPattern"} & set(more) else {"topics": topic.full_name}
    return {"adminUrl": source.admin_url, "serviceUrl": source.service_url, **selected, **more}


class Stream:
    """A query that appends the messages of a stream to a table, and reads what is there whenever it runs."""

    def __init__(self, spark: Any, folder: Path, values: Mapping[str, str]) -> None:
        self._spark, self._folder, self._options = spark, folder, values
        self.batches = 0

    def run(self) -> Counter[bytes]:
        """Read what is there. Return the payloads that the run has added."""
        before = self._stored()
        stream = (
            self._spark.readStream.format("pulsar-messages").options(columns="topic,payload", **self._options).load()
        )
        query = (
            stream.writeStream.format("parquet")
            .option("checkpointLocation", str(self._folder / "checkpoint"))
            .option("path", str(self._folder / "table"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        self.batches = sum(each["numInputRows"] > 0 for each in query.recentProgress)
        return self._stored() - before

    def _stored(self) -> Counter[bytes]:
        if not (self._folder / "table").exists():
            return Counter()
        return Counter(bytes(row.payload) for row in self._spark.read.parquet(str(self._folder / "table")).collect())
