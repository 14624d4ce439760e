"""Hostile documents by the seed, every door of `core` and `payload` that takes them, and the child that is watched.

`python -m hostile SEED FIRST BEYOND` answers for the documents with these numbers; `watching` starts it. Not here: what
a document means, which the unit tests ask.
"""
