"""Parts that check, fingerprint and batches share: the request to the engine, and JSON and text as input and output."""
