"""Schemas, their compatibility, and the next action for a topic, as pure functions.

No module here does I/O or uses the clock, the event loop or Kubernetes. The webhook, the controller, the registry and
the command line share them.
"""
