"""Benchmarks against anchors that run beside them: what counts is the ratio, never a figure alone.

`python -m benchmarks [NAME...]` prints a table and writes `benchmarks.json`. Each measure brings its own control
plane, which dies with the run. Rounds of ours and of the anchor alternate, and medians are told.
"""
