"""A topic in Spark, from its messages to what a proposed schema would break. Each `# %%` is a cell of a notebook.

Run it with the package `topicschema[spark]` and Java, beside a topic that has a schema:

    export PYSPARK_PYTHON=python
    python docs/spark-example.py ADMIN_URL SERVICE_URL TOPIC PROPOSED_SCHEMA_FILE
"""

# %% A session: Spark finds the data sources in the Python that PYSPARK_PYTHON names.
import sys

from pyspark.sql import SparkSession

admin_url, service_url, topic, proposed = sys.argv[1:]
spark = SparkSession.builder.master("local[2]").config("spark.ui.showConsoleProgress", "false").getOrCreate()
broker = {"adminUrl": admin_url, "serviceUrl": service_url, "topics": topic}

# %% Messages by schema version: which versions still have data, and since when?
messages = spark.read.format("pulsar-messages").options(**broker, columns="schema_version,publish_time").load()
messages.createOrReplaceTempView("messages")
spark.sql(
    "SELECT schema_version, count(*) AS messages, min(publish_time) AS oldest FROM messages GROUP BY 1 ORDER BY 1"
).show(truncate=False)

# %% Values of all versions, as a consumer with the current schema reads them.
values = spark.read.format("pulsar-messages").options(**broker, columns="value", readerSchema="current").load()
values.select("value.*").printSchema()
print("readable:", values.where("value IS NOT NULL").count())

# %% The proposed schema: what could its consumers not read, and where?
verdicts = spark.read.format("pulsar-verdicts").options(**broker, schema=proposed).load()
verdicts.where("reason IS NOT NULL").groupBy("schema_version", "reason", "path").sum("messages").orderBy("path").show(
    truncate=False
)

# %%
spark.stop()
