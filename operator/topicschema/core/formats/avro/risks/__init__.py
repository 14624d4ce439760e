"""Risks: changes that the broker accepts, but by which consumers lose or misread data."""
