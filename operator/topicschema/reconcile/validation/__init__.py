"""Validation of messages: settings, Jobs, reports and status."""
