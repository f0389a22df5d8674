"""Which chart and which line of the trends a run is a point of, and indexes for long lists."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add the columns; runs that were recorded before get their line when trends are looked at."""
    op.add_column("runs", sa.Column("question", sa.String(40)))
    op.add_column("runs", sa.Column("line", sa.String(40)))
    op.add_column("runs", sa.Column("lines_version", sa.Integer))
    op.create_index("ix_runs_lines", "runs", ["question", "line", "created_at", "run_id", "status"])
    op.create_index("ix_runs_lines_version", "runs", ["lines_version"])
    op.create_index("ix_audit_action", "audit", ["action", "entry_id"])
    op.create_index("ix_audit_person", "audit", ["person", "entry_id"])
