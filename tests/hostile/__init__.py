"""Hostile documents by seed and number, all entry points of `core` and `payload` that take them, and the runs.

`python -m hostile SEED FIRST BEYOND` tries the documents with these numbers; `supervisor` starts it. What a document
means is checked by the unit tests.
"""
