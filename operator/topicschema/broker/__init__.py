"""Client of Pulsar's admin REST API: schemas and settings as values of `core.remote`, errors of `broker.errors`.

`reconcile` decides on uploads, imports and deletions. `storage` stores their results.
"""
