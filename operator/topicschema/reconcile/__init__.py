"""Reconciliation of one key at a time: observe, judge, plan, act and report."""
