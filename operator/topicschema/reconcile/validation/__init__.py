"""Validation: from the policy's settings to a Job, its report and the status."""
