"""What check, fingerprint and batches share: the question to the engine, JSON and text in and out."""
