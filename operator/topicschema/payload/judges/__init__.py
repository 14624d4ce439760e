"""Do a column of payloads fit a schema, and where not, why and where? One judge for each type of schema.

What a single message holds is told by `payload` itself; here many are judged at once, and nothing but the verdicts is
kept. numpy and numba are imported with the judges, not with this package: the operator has neither. Nothing here knows
of Arrow, Spark or Pulsar.
"""
