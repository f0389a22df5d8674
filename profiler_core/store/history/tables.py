"""The tables. A change here needs a new file in migrations/versions, which a test compares.

Moments are texts, ISO 8601 in UTC with a Z: they sort by time in every database. Numbers that
may be missing are nullable doubles, exact for whole numbers up to 2**53.
"""

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
)

from profiler_core.model.history import METRICS

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(column_0_label)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

KEY = String(300)  # of what is looked up by its name; longer ones are refused, never cut
MOMENT = String(40)


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False, default="", server_default="")


runs = Table(
    "runs",
    metadata,
    Column("run_id", KEY, primary_key=True),
    Column("capture_id", KEY, nullable=False, index=True),
    Column("baseline_run_id", KEY),
    Column("role", String(20)),
    _text("name"),
    _text("workload"),
    _text("variant"),
    Column("status", String(20), nullable=False),
    Column("error", Text),
    Column("created_at", MOMENT, nullable=False),
    Column("recorded_at", MOMENT, nullable=False),
    Column("origin", String(20), nullable=False),
    _text("gpu"),
    _text("torch"),
    _text("git_branch"),
    _text("git_commit"),
    _text("host"),
    _text("person"),
    *(Column(name, Double) for name in METRICS),
    Column("metrics_version", Integer, nullable=False),
    Column("rounds", JSON, nullable=False),
    Column("spec", JSON, nullable=False),
    Column("environment", JSON, nullable=False),
    Column("key", Text, nullable=False),
    Column("artifact", Text),
    Column("files_deleted_at", MOMENT),
    Column("deleted_at", MOMENT),  # since then it lies in the trash; None: it does not
    Column("question", String(40)),  # what a chart of the trends is of (lines.py); empty: unknown
    Column("line", String(40)),  # of that chart; empty: a trial, which is on none
    Column("lines_version", Integer, index=True),
    Index("ix_runs_lines", "question", "line", "created_at", "run_id", "status"),
    Index("ix_runs_workload_created_at", "workload", "created_at"),
    Index("ix_runs_created_at", "created_at"),
)

# What the files of a finished run held when it was recorded: (name, bytes, time of the last change
# in ns, SHA-256) of each. Runs of earlier versions have no row until they are verified.
run_files = Table(
    "run_files",
    metadata,
    Column("run_id", KEY, ForeignKey("runs.run_id", ondelete="CASCADE"), primary_key=True),
    Column("content_hash", String(64), nullable=False),
    Column("files", JSON, nullable=False),
)

tags = Table(
    "tags",
    metadata,
    Column("run_id", KEY, ForeignKey("runs.run_id", ondelete="CASCADE"), primary_key=True),
    Column("tag", String(100), primary_key=True, index=True),
    Column("set_at", MOMENT, nullable=False),
    _text("person"),
)

# What lies, or lay, in the trash. The state is the truth that files on every machine follow
# (trash_files.py), so a row stays when its runs are back, or gone for good.
deletions = Table(
    "deletions",
    metadata,
    Column("deletion_id", KEY, primary_key=True),
    Column("kind", String(20), nullable=False),  # "runs", or "files": their numbers stay
    Column("state", String(20), nullable=False, index=True),  # "deleted", "restored", "emptied"
    _text("title"),
    _text("reason"),  # the rule of retention; empty where a person did it
    Column("keys", JSON, nullable=False),  # of the library: what was moved aside
    Column("n_bytes", BigInteger, nullable=False),
    Column("deleted_at", MOMENT, nullable=False),
    Column("audit_entry", Integer, nullable=False),  # what the audit has after it, came after it
    _text("person"),
)

deleted_runs = Table(
    "deleted_runs",
    metadata,
    Column("deletion_id", KEY, ForeignKey("deletions.deletion_id"), primary_key=True),
    Column(
        "run_id", KEY, ForeignKey("runs.run_id", ondelete="CASCADE"), primary_key=True, index=True
    ),
)

# A run that is a baseline, or part of a review, cannot be deleted: the database itself refuses.
baselines = Table(
    "baselines",
    metadata,
    Column("name", String(100), primary_key=True),
    Column("run_id", KEY, ForeignKey("runs.run_id"), nullable=False, index=True),
    Column("set_at", MOMENT, nullable=False),
    _text("person"),
    _text("note"),
)

audit = Table(
    "audit",
    metadata,
    Column("entry_id", Integer, primary_key=True, autoincrement=True),
    Column("at", MOMENT, nullable=False, index=True),
    _text("person"),
    Column("action", String(40), nullable=False),  # "delete", "baseline", "capture" …
    _text("subject"),  # a run_id, a baseline's name, a review_id
    Column("detail", JSON, nullable=False),
    Index("ix_audit_action", "action", "entry_id"),
    Index("ix_audit_person", "person", "entry_id"),
)

# Files of deeds that waited for the database and are recorded: each is recorded once.
recorded_deeds = Table(
    "recorded_deeds",
    metadata,
    Column("file", KEY, primary_key=True),
    Column("at", MOMENT, nullable=False),
)

# Who signed in, by the account (`person.account`) that stands in every column `person`. What is
# shown of a person lies here alone, so a changed name changes everywhere.
people = Table(
    "people",
    metadata,
    Column("person", KEY, primary_key=True),
    _text("issuer"),
    _text("subject"),
    _text("address"),  # only where the provider has verified it
    _text("name"),
    Column("first_seen_at", MOMENT, nullable=False),
    Column("last_seen_at", MOMENT, nullable=False),
    # As the provider named them at the last sign-in: a token's rights are asked for without one.
    Column("group_names", JSON, nullable=False, server_default="[]"),
)

# What lets CI and agents act for a person. The secret itself lies nowhere.
api_tokens = Table(
    "api_tokens",
    metadata,
    Column("token_id", String(20), primary_key=True),
    Column("digest", String(64), nullable=False),  # SHA-256 of the secret
    Column("person", KEY, nullable=False, index=True),
    Column("name", Text, nullable=False),
    Column("scopes", JSON, nullable=False),
    Column("made_at", MOMENT, nullable=False),
    Column("expires_at", MOMENT, nullable=False),
    Column("last_used_at", MOMENT),
    Column("revoked_at", MOMENT),
    _text("revoked_by"),
)

# Of experiments, wherever they ran: a prediction whose lever was the only difference, in ns saved
# per step, and what was measured. Their folders may be deleted; this stays.
predictions = Table(
    "predictions",
    metadata,
    Column("experiment_id", KEY, primary_key=True),
    Column("capture_id", KEY, primary_key=True),
    Column("variant", KEY, primary_key=True),
    Column("finding", String(100), primary_key=True),
    Column("word", String(100), primary_key=True),
    _text("workload"),
    _text("device"),
    _text("title"),
    _text("lever"),
    Column("gain_ns", Double, nullable=False),
    Column("low_ns", Double),
    Column("high_ns", Double),
    Column("at_most", Boolean, nullable=False),
    Column("realised_ns", Double, nullable=False),
    Column("kept_at", MOMENT, nullable=False),
    Column("realised_low_ns", Double),
    Column("realised_high_ns", Double),
)

reviews = Table(
    "reviews",
    metadata,
    Column("review_id", KEY, primary_key=True),
    _text("title"),
    _text("template"),  # "weekly", or empty
    _text("summary"),  # what is written at the top
    Column("verdict", String(20)),  # "accept", "regression", "needs work", "can't tell"; None: open
    Column("created_at", MOMENT, nullable=False, index=True),
    Column("changed_at", MOMENT, nullable=False),
    _text("person"),
    _text("changed_by"),
    Column(
        "version", Integer, nullable=False, default=1, server_default="1"
    ),  # of title to verdict
)

# What a review is about, as it was called and judged at that time. A run of the history cannot be
# deleted while a review names it; samples and files opened by their path are in no history.
review_sides = Table(
    "review_sides",
    metadata,
    Column("review_id", KEY, ForeignKey("reviews.review_id", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True),  # 0 is the baseline, candidates follow
    Column("run_id", KEY, ForeignKey("runs.run_id"), index=True),
    Column("key", Text, nullable=False),  # of the library
    _text("label"),
    _text("workload"),
    _text("facts"),
    _text("verdict"),  # the kind of analysis/verdict.py; empty for the baseline
    _text("headline"),
    _text("details"),
)

review_findings = Table(
    "review_findings",
    metadata,
    Column("review_id", KEY, ForeignKey("reviews.review_id", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True),  # of the candidate
    Column("key", String(100), primary_key=True),  # of analysis/findings.py
    Column("place", Integer, nullable=False),  # most important first
    _text("title"),
    _text("evidence"),
    _text("advice"),
    _text("stake"),
    _text("unit"),
    _text("page"),
    _text("weight"),
    Column("at_stake_ns", Double),  # per step
    Column("is_bound", Boolean),
)

# Findings that somebody took up: no row means open, and nobody's.
review_tasks = Table(
    "review_tasks",
    metadata,
    Column("review_id", KEY, ForeignKey("reviews.review_id", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("key", String(100), primary_key=True),
    _text("owner"),
    Column("state", String(20), nullable=False, index=True),
    Column("due", String(10)),  # 2026-12-01
    Column("changed_at", MOMENT, nullable=False),
    _text("changed_by"),
    Column("version", Integer, nullable=False),
    Column("difference", JSON(none_as_null=True)),  # model.review.Difference
)

review_notes = Table(
    "review_notes",
    metadata,
    Column("note_id", Integer, primary_key=True, autoincrement=True),
    Column(
        "review_id",
        KEY,
        ForeignKey("reviews.review_id", ondelete="CASCADE"),
        nullable=False,
        index=True,
    ),
    Column("finding", Text),  # key of the finding it is about; None: the review as a whole
    Column("position", Integer),  # of the candidate with that finding
    Column("text", Text, nullable=False),
    Column("written_at", MOMENT, nullable=False),
    _text("person"),
)

sign_offs = Table(
    "sign_offs",
    metadata,
    Column("review_id", KEY, ForeignKey("reviews.review_id", ondelete="CASCADE"), primary_key=True),
    Column("person", String(200), primary_key=True),
    Column("decision", String(20), nullable=False),
    Column("signed_at", MOMENT, nullable=False),
    _text("note"),
)

# A run that takes longer than the run before it on its line, by more than noise: kept when the run
# is recorded. The numbers are those of that moment; the run before may be deleted since.
regressions = Table(
    "regressions",
    metadata,
    Column("run_id", KEY, ForeignKey("runs.run_id", ondelete="CASCADE"), primary_key=True),
    Column("noticed_at", MOMENT, nullable=False, index=True),
    Column("difference", JSON, nullable=False),  # model.review.Difference
)

# Who was told of a regression, by which channel: one row for each, so that each is told once.
notices = Table(
    "notices",
    metadata,
    Column("run_id", KEY, ForeignKey("regressions.run_id", ondelete="CASCADE"), primary_key=True),
    Column("channel", String(20), primary_key=True),  # "webhook", "mail"
    Column("state", String(20), nullable=False),  # "waiting", "sent", "given up"
    Column("n_tries", Integer, nullable=False),
    Column("next_at", MOMENT, nullable=False),  # not tried again before
    _text("problem"),
)
