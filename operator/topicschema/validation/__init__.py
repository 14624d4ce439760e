"""Retained messages against a proposed schema: the request, the message sources, the run, the report and the Job.

The operator imports `request`, `errors` and `job`, which need neither numpy, Arrow nor Spark. The other packages are in
the validation image. How one payload is validated is in `payload.columnar`; when a validation is due
and what becomes of its outcome is in `reconcile.validation`.
"""
