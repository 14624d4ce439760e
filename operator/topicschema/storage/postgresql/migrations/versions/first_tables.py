"""The tables of the first release."""

import sqlalchemy as sa
from alembic import op

revision = "1"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables."""
    op.execute(sa.schema.CreateSequence(sa.Sequence("topicschema_revision", data_type=sa.BigInteger)))
    op.create_table(
        "topicschema_history",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("registry", sa.Text, nullable=False),
        sa.Column("pulsar_namespace", sa.Text, nullable=False),
        sa.Column("local_name", sa.Text, nullable=False),
        sa.Column("incarnation", sa.Integer, nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("spec", sa.JSON, nullable=False),
        sa.Index("topicschema_history_namespace", "registry", "pulsar_namespace"),
    )
    op.create_table(
        "topicschema_version",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("history", sa.Text, nullable=False),
        sa.Column("incarnation", sa.Integer, nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.Column("written", sa.TIMESTAMP(timezone=True), nullable=False),
        sa.Column("is_announced", sa.Boolean, nullable=False),
        sa.Column("is_named", sa.Boolean, nullable=False),
        sa.Column("spec", sa.JSON, nullable=False),
        sa.Index("topicschema_version_history", "history"),
        sa.Index("topicschema_version_unnamed", "written", postgresql_where=sa.text("NOT is_named")),
    )
    op.create_table(
        "topicschema_claim",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("registry", sa.Text, nullable=False),
        sa.Column("pulsar_namespace", sa.Text, nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("spec", sa.JSON, nullable=False),
        sa.Index("topicschema_claim_namespace", "pulsar_namespace"),
    )
