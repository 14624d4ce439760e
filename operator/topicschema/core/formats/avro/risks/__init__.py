"""Risks: what the broker accepts and consumers then lose or misread."""
