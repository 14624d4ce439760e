"""Reconciles one key at a time: gathers, judges, plans, acts and reports."""
