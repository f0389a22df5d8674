"""What the files of a run held when it was recorded."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Make the table; runs of earlier versions get their row when they are verified."""
    op.create_table(
        "run_files",
        sa.Column("run_id", sa.String(300), nullable=False),
        sa.Column("content_hash", sa.String(64), nullable=False),
        sa.Column("files", sa.JSON, nullable=False),
        sa.PrimaryKeyConstraint("run_id", name="pk_run_files"),
        sa.ForeignKeyConstraint(
            ["run_id"], ["runs.run_id"], name="fk_run_files_run_id", ondelete="CASCADE"
        ),
    )
