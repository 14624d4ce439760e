"""Fake brokers, and topics at real ones."""
