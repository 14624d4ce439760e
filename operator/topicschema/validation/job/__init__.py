"""Job of a validation, for the operator: its manifest, pods, log and outcome."""
