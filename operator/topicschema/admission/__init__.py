"""Admission reviews: one module per kind, and the AdmissionReview's JSON.

The package reads and never writes. See `webhook` for HTTP, TLS and probes.
"""
