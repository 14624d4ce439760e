"""The store in tables of PostgreSQL. They have the JSON of `api.store`, as KubernetesStorage has it in objects."""
