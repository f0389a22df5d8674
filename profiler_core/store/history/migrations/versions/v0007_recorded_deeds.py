"""Which files of waiting deeds are recorded, so that none is twice."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "recorded_deeds",
        sa.Column("file", sa.String(300), nullable=False),
        sa.Column("at", sa.String(40), nullable=False),
        sa.PrimaryKeyConstraint("file", name="pk_recorded_deeds"),
    )
