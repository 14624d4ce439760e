"""Compiles the loop that runs verdict programs, while the image is built: a run then loads it instead.

What a run imports is imported, too: an image that lacks a part of it is none.
"""

import pulsar
import pyarrow.dataset
import pyarrow.fs
import pyarrow.parquet
import pyspark.sql

import topicschema.spark.driver
import topicschema.spark.in_spark
from topicschema.core.schemas import PulsarLine, SchemaInfo, SchemaType
from topicschema.payload.judges import judge_of
from topicschema.payload.judges.column import Column

NEEDED = (pulsar, pyarrow.dataset, pyarrow.fs, pyarrow.parquet, pyspark.sql, topicschema.spark)
SCHEMA = SchemaInfo(SchemaType.AVRO, b'{"type":"record","name":"Order","fields":[{"name":"id","type":"long"}]}')
verdicts = judge_of(SCHEMA, SCHEMA, next(iter(PulsarLine))).judge(Column.of([b"\x02", b""]))
if [bool(each) for each in verdicts.reasons] != [False, True]:
    raise SystemExit("the compiled loop judges wrongly")
