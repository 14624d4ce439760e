"""What the API server asks before it stores an edit: one module per kind, and the AdmissionReview on the wire.

Reads, never writes. HTTP, TLS and probes are the door's matter (`webhook`).
"""
