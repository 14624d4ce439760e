"""Benchmarks against anchors that run beside them: the ratio counts, never a figure alone.

`python -m benchmarks [NAME...]` prints a table and writes `benchmarks.json`. Each measure brings its own control
plane, which dies with the run. Rounds of ours and of the anchor alternate, and the figures are medians.
"""
