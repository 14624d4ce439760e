"""Validation of retained messages with a proposed schema: request, message sources, run, report and Job.

The operator imports `request`, `errors` and `job`, which need neither numpy, Arrow nor Spark. The other packages are in
the validation image. `payload.columnar` validates the payloads. `reconcile.validation` decides when a validation is
due, and evaluates its outcome.
"""
