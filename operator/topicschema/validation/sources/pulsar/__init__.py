"""Messages that a Pulsar topic retains, up to an end that is fixed at the start of the run.

The package changes nothing at the broker: it creates no topic, subscription or schema, and acknowledges nothing. It
imports nothing heavy: `source` is the entry point of a run.
"""
