"""The first schema: runs, tags, baselines, audit."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_METRICS = (
    "step_time_ns",
    "n_kernels",
    "n_launches",
    "n_graph_breaks",
    "n_recompiles",
    "compile_s",
    "peak_reserved_bytes",
    "peak_allocated_bytes",
    "energy_per_step_j",
    "sm_clock_mhz",
)


def _text(name: str) -> "sa.Column[str]":
    return sa.Column(name, sa.Text, nullable=False, server_default="")


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "runs",
        sa.Column("run_id", sa.String(300), nullable=False),
        sa.Column("capture_id", sa.String(300), nullable=False),
        sa.Column("baseline_run_id", sa.String(300)),
        sa.Column("role", sa.String(20)),
        _text("name"),
        _text("workload"),
        _text("variant"),
        sa.Column("status", sa.String(20), nullable=False),
        sa.Column("error", sa.Text),
        sa.Column("created_at", sa.String(40), nullable=False),
        sa.Column("recorded_at", sa.String(40), nullable=False),
        sa.Column("origin", sa.String(20), nullable=False),
        _text("gpu"),
        _text("torch"),
        _text("git_branch"),
        _text("git_commit"),
        _text("host"),
        _text("person"),
        *(sa.Column(name, sa.Double) for name in _METRICS),
        sa.Column("metrics_version", sa.Integer, nullable=False),
        sa.Column("rounds", sa.JSON, nullable=False),
        sa.Column("spec", sa.JSON, nullable=False),
        sa.Column("environment", sa.JSON, nullable=False),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("artifact", sa.Text),
        sa.Column("files_deleted_at", sa.String(40)),
        sa.PrimaryKeyConstraint("run_id", name="pk_runs"),
    )
    op.create_index("ix_runs_capture_id", "runs", ["capture_id"])
    op.create_index("ix_runs_workload_created_at", "runs", ["workload", "created_at"])
    op.create_index("ix_runs_created_at", "runs", ["created_at"])
    op.create_table(
        "tags",
        sa.Column("run_id", sa.String(300), nullable=False),
        sa.Column("tag", sa.String(100), nullable=False),
        sa.Column("set_at", sa.String(40), nullable=False),
        _text("person"),
        sa.PrimaryKeyConstraint("run_id", "tag", name="pk_tags"),
        sa.ForeignKeyConstraint(
            ["run_id"], ["runs.run_id"], name="fk_tags_run_id", ondelete="CASCADE"
        ),
    )
    op.create_index("ix_tags_tag", "tags", ["tag"])
    op.create_table(
        "baselines",
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("run_id", sa.String(300), nullable=False),
        sa.Column("set_at", sa.String(40), nullable=False),
        _text("person"),
        _text("note"),
        sa.PrimaryKeyConstraint("name", name="pk_baselines"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.run_id"], name="fk_baselines_run_id"),
    )
    op.create_index("ix_baselines_run_id", "baselines", ["run_id"])
    op.create_table(
        "audit",
        sa.Column("entry_id", sa.Integer, autoincrement=True, nullable=False),
        sa.Column("at", sa.String(40), nullable=False),
        _text("person"),
        sa.Column("action", sa.String(40), nullable=False),
        _text("subject"),
        sa.Column("detail", sa.JSON, nullable=False),
        sa.PrimaryKeyConstraint("entry_id", name="pk_audit"),
    )
    op.create_index("ix_audit_at", "audit", ["at"])
