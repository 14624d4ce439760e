"""How many pairs the differential tier makes, and of which seeds: one that stays, and a new one in every run.

TOPICSCHEMA_SEED repeats a run, TOPICSCHEMA_TEST_PAIRS says how many pairs each seed gets (`make test-differential`).
"""

import os
import secrets

FIXED = "topicschema"
FRESH = os.environ.get("TOPICSCHEMA_SEED") or secrets.token_hex(4)
PAIRS = int(os.environ.get("TOPICSCHEMA_TEST_PAIRS") or 1000)
"""Enough to notice most mistakes; they cost `make test` some seconds."""
