"""What findings predicted, and what experiments measured of it."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

_KEY = sa.String(300)


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=False, server_default="")


def upgrade() -> None:
    """Make the table; it fills from the experiments that lie on the machines."""
    op.create_table(
        "predictions",
        sa.Column("experiment_id", _KEY, nullable=False),
        sa.Column("capture_id", _KEY, nullable=False),
        sa.Column("variant", _KEY, nullable=False),
        sa.Column("finding", sa.String(100), nullable=False),
        sa.Column("word", sa.String(100), nullable=False),
        _text("workload"),
        _text("device"),
        _text("title"),
        _text("lever"),
        sa.Column("gain_ns", sa.Double, nullable=False),
        sa.Column("low_ns", sa.Double),
        sa.Column("high_ns", sa.Double),
        sa.Column("at_most", sa.Boolean, nullable=False),
        sa.Column("realised_ns", sa.Double, nullable=False),
        sa.Column("kept_at", sa.String(40), nullable=False),
        sa.PrimaryKeyConstraint(
            "experiment_id", "capture_id", "variant", "finding", "word", name="pk_predictions"
        ),
    )
