"""All tiers of tests in one run, as `make test` and `make test-all` do: `python -m suite [TIER ...]`."""
