"""Deleted runs lie in a trash: their rows are marked, and can be put back."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Make the tables of deletions, and the mark of deleted runs."""
    op.create_table(
        "deletions",
        sa.Column("deletion_id", sa.String(300), nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("title", sa.Text, nullable=False, server_default=""),
        sa.Column("reason", sa.Text, nullable=False, server_default=""),
        sa.Column("keys", sa.JSON, nullable=False),
        sa.Column("n_bytes", sa.BigInteger, nullable=False),
        sa.Column("deleted_at", sa.String(40), nullable=False),
        sa.Column("audit_entry", sa.Integer, nullable=False),
        sa.Column("person", sa.Text, nullable=False, server_default=""),
        sa.PrimaryKeyConstraint("deletion_id", name="pk_deletions"),
    )
    op.create_index("ix_deletions_state", "deletions", ["state"])
    op.create_table(
        "deleted_runs",
        sa.Column("deletion_id", sa.String(300), nullable=False),
        sa.Column("run_id", sa.String(300), nullable=False),
        sa.PrimaryKeyConstraint("deletion_id", "run_id", name="pk_deleted_runs"),
        sa.ForeignKeyConstraint(
            ["deletion_id"], ["deletions.deletion_id"], name="fk_deleted_runs_deletion_id"
        ),
        sa.ForeignKeyConstraint(
            ["run_id"], ["runs.run_id"], name="fk_deleted_runs_run_id", ondelete="CASCADE"
        ),
    )
    op.create_index("ix_deleted_runs_run_id", "deleted_runs", ["run_id"])
    op.add_column("runs", sa.Column("deleted_at", sa.String(40)))
