"""Judging of schemas for the webhook and the controller: policies, stored versions, and workers for large schemas."""
