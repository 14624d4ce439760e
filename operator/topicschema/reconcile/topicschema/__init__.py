"""Reconciliation of a TopicSchema: its history, its topic at the broker, its status and its deletion."""
