"""Stored histories, payloads and claims: the interface in `protocol`, and one package for each implementation."""
