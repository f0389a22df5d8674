"""Reviews keep what they are about as it was said then, and count their changes."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def _text(name: str) -> "sa.Column[str]":
    return sa.Column(name, sa.Text, nullable=False, server_default="")


def upgrade() -> None:
    """Make the tables; `review_runs` becomes part of `review_sides`."""
    op.add_column("reviews", _text("changed_by"))
    op.add_column("reviews", sa.Column("version", sa.Integer, nullable=False, server_default="1"))
    op.add_column("review_notes", sa.Column("position", sa.Integer))
    op.create_table(
        "review_sides",
        sa.Column("review_id", sa.String(300), nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("run_id", sa.String(300)),
        sa.Column("key", sa.Text, nullable=False),
        *map(_text, ("label", "workload", "facts", "verdict", "headline", "details")),
        sa.PrimaryKeyConstraint("review_id", "position", name="pk_review_sides"),
        _of_review("review_sides"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.run_id"], name="fk_review_sides_run_id"),
    )
    op.create_index("ix_review_sides_run_id", "review_sides", ["run_id"])
    op.execute(
        "INSERT INTO review_sides (review_id, position, run_id, key, label, workload) "
        "SELECT r.review_id, r.position, r.run_id, runs.key, runs.variant, runs.workload "
        "FROM review_runs AS r JOIN runs ON runs.run_id = r.run_id"
    )
    op.drop_table("review_runs")
    op.create_table(
        "review_findings",
        sa.Column("review_id", sa.String(300), nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("key", sa.String(100), nullable=False),
        sa.Column("place", sa.Integer, nullable=False),
        *map(_text, ("title", "evidence", "advice", "stake", "unit", "page", "weight")),
        sa.PrimaryKeyConstraint("review_id", "position", "key", name="pk_review_findings"),
        _of_review("review_findings"),
    )


def _of_review(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["review_id"], ["reviews.review_id"], name=f"fk_{table}_review_id", ondelete="CASCADE"
    )
