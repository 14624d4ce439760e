"""Reconciliation of a NamespaceSchemaPolicy: its claim, the settings of its Pulsar namespace, its status."""
