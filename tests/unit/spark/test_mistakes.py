"""Mistakes in the options of the data sources, found before Spark reads anything."""

from pathlib import Path

import pytest
from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StringType, StructField, StructType

from support.validation import order_files
from topicschema.spark import PulsarMessages, PulsarVerdicts
from topicschema.spark.errors import InvalidOptionError

TOPIC = {
    "adminUrl": "http://pulsar:8080",
    "serviceUrl": "pulsar://pulsar:6650",
    "topics": "persistent://shop/live/orders",
}
RECURSIVE = '{"type": "record", "name": "R", "fields": [{"name": "r", "type": ["null", "R"]}]}'
MESSAGES = [
    ({"columns": "tpoic"}, "column 'tpoic' does not exist. The columns are topic"),
    ({"colums": "topic"}, "option colums does not exist. The options are adminUrl"),
    ({"mode": "FAILFAST"}, "option readerSchema is missing: readerSchemaType and mode belong to it"),
    ({"readerSchema": '"int"', "mode": "fast"}, "option mode: 'fast'; write one of PERMISSIVE, DROPMALFORMED"),
    ({"readerSchema": "current", "topics": "persistent://a/b/c,persistent://a/b/d"}, "current needs exactly one topic"),
    ({"readerSchema": RECURSIVE}, "option readerSchema: RECURSIVE_TYPE at $.fields[0].type[1]"),
]
VERDICTS = [
    ({}, "option schema is missing: write current, the text of a schema, or a file"),
    ({"schema": "/nowhere.avsc"}, "option schema: /nowhere.avsc: No such file or directory"),
    ({"schema": '{"type": "recrod"}'}, "option schema: "),
    ({"schema": '"int"', "schemaType": "AVOR"}, "option schemaType: 'AVOR'; write one of NONE, STRING"),
    ({"schema": '"int"', "columns": "payload"}, "column 'payload' does not exist. The columns are topic"),
    ({"schema": '"int"', "schemas": "x"}, "option schemas does not exist. The options are adminUrl"),
]
FILES = [
    ({"history": "", "schema": "current"}, "option history: '' has an empty item"),
    ({"schema": "current"}, "option schema: the current schema is the last one of the option history"),
    ({"fileFormat": "csv"}, "option fileFormat: 'csv'; write one of parquet, avro, json"),
    ({"writtenWith": "9"}, "option writtenWith: '9': the option history has no schema of that number"),
    ({"adminUrl": "http://x"}, "option adminUrl does not exist for files. The options are files"),
]


def raised(source: DataSource) -> str:
    with pytest.raises(InvalidOptionError) as error:
        source.schema()
    return error.value.message


@pytest.mark.parametrize(("values", "message"), MESSAGES)
def test_of_messages(values: dict[str, str], message: str) -> None:
    assert message in raised(PulsarMessages(TOPIC | values))


@pytest.mark.parametrize(("values", "message"), VERDICTS)
def test_of_verdicts(values: dict[str, str], message: str) -> None:
    assert message in raised(PulsarVerdicts(TOPIC | values))


@pytest.mark.parametrize(("values", "message"), FILES)
def test_of_files(tmp_path: Path, values: dict[str, str], message: str) -> None:
    file = order_files.write(order_files.orders(3), tmp_path / "orders.parquet")
    assert message in raised(PulsarVerdicts({"files": str(file), "schema": '"int"'} | values))


def test_of_a_stream_of_files() -> None:
    source = PulsarVerdicts({"files": "orders.parquet", "schema": '"int"'})
    with pytest.raises(InvalidOptionError, match="option files: a stream reads topics"):
        source.streamReader(source.schema())


def test_of_a_stream_with_an_end() -> None:
    source = PulsarMessages(TOPIC | {"until": "1h"})
    with pytest.raises(InvalidOptionError, match="option until: a stream has no end"):
        source.streamReader(source.schema())


def test_of_a_schema_with_another_type() -> None:
    with pytest.raises(InvalidOptionError, match="column payload has the type binary, not string"):
        PulsarMessages(TOPIC).reader(StructType([StructField("payload", StringType())]))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind: Policy", "the file has 0 TopicSchemas, and one is needed"),
        ("a: [", "the file is not YAML"),
        ("kind: TopicSchema\nspec: {topic: 1}", "spec"),
    ],
)
def test_of_a_manifest(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "orders.yaml"
    file.write_text(text)
    assert f"option schema: {message}" in raised(PulsarVerdicts(TOPIC | {"schema": str(file)}))
    assert raised(PulsarVerdicts(TOPIC | {"schema": str(file), "schemaType": "JSON"})) == (
        "option schemaType: the TopicSchema has the type"
    )
