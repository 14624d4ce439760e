"""Retained messages against a proposed schema: question, sources, run, report, and the Job around them.

The operator has neither numpy nor Arrow, Spark or a Pulsar client: `question`, `marks`, `outcome` and `jobs` import
none of them, and nothing is imported here. How bytes are judged is told in payload.judges; when a validation is due and
what becomes of its outcome, in reconcile.
"""
