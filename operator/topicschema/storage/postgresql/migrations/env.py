"""The environment that alembic loads to run migrations on the connection of `migrate`."""

from alembic import context

from topicschema.storage.postgresql.tables import MIGRATION_TABLE

context.configure(connection=context.config.attributes["connection"], version_table=MIGRATION_TABLE)
with context.begin_transaction():
    context.run_migrations()
