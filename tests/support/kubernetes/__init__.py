"""Fake API servers, and namespaces on real ones."""
