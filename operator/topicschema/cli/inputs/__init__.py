"""Inputs of the commands: files, schemas, .proto sources, manifests, payloads."""
