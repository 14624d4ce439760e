"""Judges schemas for webhook and controller: policies, stored versions, and the workers that compare large schemas."""
