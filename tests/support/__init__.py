"""Modules that several tiers of tests share."""
