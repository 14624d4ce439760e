"""Report of a validation: counts of messages and reasons, examples, tables."""
