"""Schemas of classes, made by Pulsar's own client of their language."""
