"""Stored histories, payloads and claims. See `core` for their meaning and `api.record` for their JSON."""
