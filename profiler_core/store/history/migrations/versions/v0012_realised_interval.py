"""From where to where an experiment's rounds say that a prediction came true."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Add the columns; what was kept before has the measured number alone."""
    op.add_column("predictions", sa.Column("realised_low_ns", sa.Double))
    op.add_column("predictions", sa.Column("realised_high_ns", sa.Double))
