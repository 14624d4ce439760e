"""Entry by which Spark finds the data source `pulsar-messages` without a registration (modules named `pyspark_*`)."""

from topicschema.spark.messages import PulsarMessages as DefaultSource

__all__ = ["DefaultSource"]
