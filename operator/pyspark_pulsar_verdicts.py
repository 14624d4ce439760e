"""Entry by which Spark finds the data source `pulsar-verdicts` without a registration (modules named `pyspark_*`)."""

from topicschema.spark.verdicts import PulsarVerdicts as DefaultSource

__all__ = ["DefaultSource"]
