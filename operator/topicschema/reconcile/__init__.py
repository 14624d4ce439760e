"""Reconciliation of one key at a time: gather, judge, plan, act and report."""
