"""Reviews: which runs, notes, sign-offs."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def _text(name: str) -> "sa.Column[str]":
    return sa.Column(name, sa.Text, nullable=False, server_default="")


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "reviews",
        sa.Column("review_id", sa.String(300), nullable=False),
        _text("title"),
        _text("template"),
        _text("summary"),
        sa.Column("verdict", sa.String(20)),
        sa.Column("created_at", sa.String(40), nullable=False),
        sa.Column("changed_at", sa.String(40), nullable=False),
        _text("person"),
        sa.PrimaryKeyConstraint("review_id", name="pk_reviews"),
    )
    op.create_index("ix_reviews_created_at", "reviews", ["created_at"])
    op.create_table(
        "review_runs",
        sa.Column("review_id", sa.String(300), nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("run_id", sa.String(300), nullable=False),
        sa.PrimaryKeyConstraint("review_id", "position", name="pk_review_runs"),
        _of_review("review_runs"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.run_id"], name="fk_review_runs_run_id"),
    )
    op.create_index("ix_review_runs_run_id", "review_runs", ["run_id"])
    op.create_table(
        "review_notes",
        sa.Column("note_id", sa.Integer, autoincrement=True, nullable=False),
        sa.Column("review_id", sa.String(300), nullable=False),
        sa.Column("finding", sa.Text),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("written_at", sa.String(40), nullable=False),
        _text("person"),
        sa.PrimaryKeyConstraint("note_id", name="pk_review_notes"),
        _of_review("review_notes"),
    )
    op.create_index("ix_review_notes_review_id", "review_notes", ["review_id"])
    op.create_table(
        "sign_offs",
        sa.Column("review_id", sa.String(300), nullable=False),
        sa.Column("person", sa.String(200), nullable=False),
        sa.Column("decision", sa.String(20), nullable=False),
        sa.Column("signed_at", sa.String(40), nullable=False),
        _text("note"),
        sa.PrimaryKeyConstraint("review_id", "person", name="pk_sign_offs"),
        _of_review("sign_offs"),
    )


def _of_review(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["review_id"],
        ["reviews.review_id"],
        name=f"fk_{table}_review_id",
        ondelete="CASCADE",
    )
