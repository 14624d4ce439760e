"""Client of the Kubernetes API server: objects as plain JSON dicts, the errors, the lease and the Events.

`api` decodes the objects, `storage` stores schemas in them.
"""
