"""Migrations of the tables, which alembic runs. Each release adds those that it needs."""
