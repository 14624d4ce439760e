"""Pulsar's admin REST API, as the product talks to it: schemas and settings as values of `core.remote`, errors ours.

Why a version is uploaded, imported or deleted is decided in `reconcile`; what is remembered of it is kept in `storage`.
"""
