"""Mutation testing of `core`, by hand: what if one operator, constant or statement were another, would a test say so?

Own, because the tools for it make all mutants before they try one and run one command for each: here a seed chooses a
sample, only the tests that run the changed line are asked, and a stopped run goes on where it was.
"""
