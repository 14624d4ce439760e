"""The registry process: Pulsar's admin REST API of schemas, served from the store, with writes as TopicSchemas."""
