"""People by the account of their sign-in, and an audit that only grows."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

_REFUSAL = "the audit only grows"


def upgrade() -> None:
    """Make the table of people; let the database itself refuse to change the audit."""
    op.create_table(
        "people",
        sa.Column("person", sa.String(300), nullable=False),
        *(
            sa.Column(name, sa.Text, nullable=False, server_default="")
            for name in ("issuer", "subject", "address", "name")
        ),
        sa.Column("first_seen_at", sa.String(40), nullable=False),
        sa.Column("last_seen_at", sa.String(40), nullable=False),
        sa.PrimaryKeyConstraint("person", name="pk_people"),
    )
    if op.get_bind().dialect.name == "sqlite":
        for deed in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER audit_no_{deed.lower()} BEFORE {deed} ON audit "
                f"BEGIN SELECT RAISE(ABORT, '{_REFUSAL}'); END"
            )
        return
    op.execute(
        "CREATE FUNCTION fusionscope_audit_only_grows() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{_REFUSAL}'; END $$"
    )
    op.execute(
        "CREATE TRIGGER audit_only_grows BEFORE UPDATE OR DELETE OR TRUNCATE ON audit "
        "FOR EACH STATEMENT EXECUTE FUNCTION fusionscope_audit_only_grows()"
    )
