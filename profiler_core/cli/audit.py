"""`audit`: who did what here: captured, uploaded, deleted, reviewed, signed."""

import argparse
from typing import Annotated

from profiler_core.answers.encoding import write_json
from profiler_core.answers.record import Answer, means
from profiler_core.cli.table import table
from profiler_core.store import history


class AuditAnswer(Answer, frozen=True):
    """`audit`."""

    entries: Annotated[
        tuple[history.AuditEntry, ...],
        means(
            "{keys}",
            at="ISO 8601, UTC",
            person="the account of a sign-in (`oidc:ISSUER#SUBJECT`), else a user's name",
            name="what is shown for the person",
            action="`capture`, `upload`, `delete`, `record`, `tag`, `baseline`, `retention`, "
            "`review`, `verdict`, `note`, `sign off` …",
            subject="a run's or review's id, a baseline's name",
        ),
    ]


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the arguments."""
    parser = subparsers.add_parser("audit", help="who captured, uploaded, deleted, signed what")
    parser.add_argument("--person", help="only what this person did")
    parser.add_argument("--action", help="capture, upload, delete, baseline, tag, sign off, …")
    parser.add_argument("--limit", type=int, default=100, help="entries, the newest first")
    parser.add_argument("--json", action="store_true", help="see docs/json.md")


def run(arguments: argparse.Namespace) -> int:
    """Print the entries."""
    entries = history.entries(
        max(1, arguments.limit), person=arguments.person, action=arguments.action
    )
    if arguments.json:
        write_json(AuditAnswer(entries))
        return 0
    rows = [
        [entry.at, entry.name, entry.action, entry.subject, entry.detail_text] for entry in entries
    ]
    if rows:
        print(table(["when", "who", "did", "what", ""], rows, n_text=5))
    else:
        print("No actions are recorded yet.")
    return 0
