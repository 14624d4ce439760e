"""The operator's story: what is done about a key. Observe, judge, plan, act, report."""
