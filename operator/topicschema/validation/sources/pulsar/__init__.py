"""Messages that a Pulsar topic retains, up to an end that is fixed when the run starts.

Nothing here changes anything at the broker: no topic, subscription or schema is made, and nothing is acknowledged.
Imports nothing heavy: `source` is what a run opens.
"""
