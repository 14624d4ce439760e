"""Audit of Pulsar namespaces: what all retained messages are, as tables (docs/audit.md).

from topicschema.spark.audit import audit, read_table

audit(spark, {"adminUrl": ..., "serviceUrl": ..., "namespace": "shop/*"}, Path("/data/audit"))
read_table(spark, Path("/data/audit"), "topics").show()
"""

from topicschema.spark.audit.application import AuditResult, audit, read_table
from topicschema.spark.audit.tables import TABLES

__all__ = ["TABLES", "AuditResult", "audit", "read_table"]
