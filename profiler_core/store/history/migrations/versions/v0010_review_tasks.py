"""Who looks after a finding and how it ended; regressions, and who was told of them."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"

_KEY, _MOMENT = sa.String(300), sa.String(40)


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=False, server_default="")


def upgrade() -> None:
    """Make the tables; findings of earlier reviews have no number to compare with."""
    op.add_column("review_findings", sa.Column("at_stake_ns", sa.Double))
    op.add_column("review_findings", sa.Column("is_bound", sa.Boolean))
    op.create_table(
        "review_tasks",
        sa.Column("review_id", _KEY, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("key", sa.String(100), nullable=False),
        _text("owner"),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("due", sa.String(10)),
        sa.Column("changed_at", _MOMENT, nullable=False),
        _text("changed_by"),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("difference", sa.JSON(none_as_null=True)),
        sa.PrimaryKeyConstraint("review_id", "position", "key", name="pk_review_tasks"),
        sa.ForeignKeyConstraint(
            ["review_id"], ["reviews.review_id"], name="fk_review_tasks_review_id",
            ondelete="CASCADE",
        ),
    )  # fmt: skip
    op.create_index("ix_review_tasks_state", "review_tasks", ["state"])
    op.create_table(
        "regressions",
        sa.Column("run_id", _KEY, nullable=False),
        sa.Column("noticed_at", _MOMENT, nullable=False),
        sa.Column("difference", sa.JSON, nullable=False),
        sa.PrimaryKeyConstraint("run_id", name="pk_regressions"),
        sa.ForeignKeyConstraint(
            ["run_id"], ["runs.run_id"], name="fk_regressions_run_id", ondelete="CASCADE"
        ),
    )
    op.create_index("ix_regressions_noticed_at", "regressions", ["noticed_at"])
    op.create_table(
        "notices",
        sa.Column("run_id", _KEY, nullable=False),
        sa.Column("channel", sa.String(20), nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("n_tries", sa.Integer, nullable=False),
        sa.Column("next_at", _MOMENT, nullable=False),
        _text("problem"),
        sa.PrimaryKeyConstraint("run_id", "channel", name="pk_notices"),
        sa.ForeignKeyConstraint(
            ["run_id"], ["regressions.run_id"], name="fk_notices_run_id", ondelete="CASCADE"
        ),
    )
