"""What a schema is, when one may follow another, and what to do next.

Everything here is pure: no input or output, no clock, no event loop, no Kubernetes. The webhook, the controller, the
registry and the command line all ask the same functions.
"""
