"""Data sources for Spark that read the retained messages of Pulsar topics: `pip install topicschema[spark]`.

    from topicschema.spark import PulsarMessages, PulsarVerdicts

    spark.dataSource.register(PulsarMessages)
    spark.read.format("pulsar-messages").option("namespace", "shop/orders")...

`pulsar-messages` has a row for each message, and `pulsar-verdicts` counts what a consumer could not read.

They need no jar and no Kubernetes: any SparkSession of Spark 4.2 or newer runs them, with this package on its driver
and its executors. They change nothing at the broker.
"""

from topicschema.spark.messages import PulsarMessages
from topicschema.spark.verdicts import PulsarVerdicts

__all__ = ["PulsarMessages", "PulsarVerdicts"]
