"""The Job of a validation as the operator sees it: its manifest, pods, log, outcome and HTML report."""
