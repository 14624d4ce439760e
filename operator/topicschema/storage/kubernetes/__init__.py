"""The store in Kubernetes objects: SchemaHistory, SchemaVersion, PulsarNamespaceClaim. `api.record` has their JSON."""
