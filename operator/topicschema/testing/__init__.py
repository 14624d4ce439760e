"""Tests for users' own code, to be run by pytest with pytest-asyncio. No process of the product imports them."""

import pytest

pytest.register_assert_rewrite("topicschema.testing.storage_contract")
