"""API tokens of people, and the groups that the provider named when they last signed in."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Make the table of tokens; a token's rights are asked for without its person's sign-in."""
    op.add_column("people", sa.Column("group_names", sa.JSON, nullable=False, server_default="[]"))
    op.create_table(
        "api_tokens",
        sa.Column("token_id", sa.String(20), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("person", sa.String(300), nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("scopes", sa.JSON, nullable=False),
        sa.Column("made_at", sa.String(40), nullable=False),
        sa.Column("expires_at", sa.String(40), nullable=False),
        sa.Column("last_used_at", sa.String(40)),
        sa.Column("revoked_at", sa.String(40)),
        sa.Column("revoked_by", sa.Text, nullable=False, server_default=""),
        sa.PrimaryKeyConstraint("token_id", name="pk_api_tokens"),
    )
    op.create_index("ix_api_tokens_person", "api_tokens", ["person"])
