"""The store in Kubernetes objects: SchemaHistory, SchemaVersion, PulsarNamespaceClaim. `api.store` has their JSON."""
