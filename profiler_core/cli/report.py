"""`report RUN [CANDIDATE…] -o report.html`: a comparison, or one run, as a document."""

import argparse
from dataclasses import replace
from pathlib import Path

from profiler_core.cli.history_module import history_module
from profiler_core.cli.reading_options import add_reading_options, apply_reading_options
from profiler_core.cli.runs import add_runs
from profiler_core.errors import BadInput
from profiler_core.report.contents import gather
from profiler_core.report.redaction import redacted
from profiler_core.report.write import (
    FORMATS,
    TABLE_FORMATS,
    check_format,
    write_report,
    write_tables,
)
from profiler_core.session.comparison import Comparison
from profiler_core.session.folder import runs_at


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the arguments."""
    parser = subparsers.add_parser(
        "report", help="a comparison or a run as HTML, Markdown, PDF or tables"
    )
    add_runs(parser)
    parser.add_argument(
        "-o", "--output", type=Path, action="append", default=[], metavar="FILE",
        help=f"the report; its ending says the format ({', '.join(FORMATS)}); may be repeated",
    )  # fmt: skip
    parser.add_argument("--tables", type=Path, metavar="FOLDER", help="every table as a file")
    parser.add_argument(
        "--format", choices=TABLE_FORMATS, default="csv", help="of the tables (default: csv)"
    )
    parser.add_argument(
        "--redact",
        action="store_true",
        help="leave out folders, host, user and source excerpts",
    )
    parser.add_argument(
        "--review", metavar="ID", help="a review of the history: its verdict, notes and names too"
    )
    parser.add_argument("--review-url", metavar="URL", help="where that review is to be found")
    add_reading_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the files.

    Raises:
        BadInput: no file is asked for, an ending is unknown, or a file cannot be written.
    """
    apply_reading_options(arguments)
    outputs: list[Path] = arguments.output
    if not outputs and arguments.tables is None:
        raise BadInput(
            "No output was requested.",
            remedy="Add -o report.html (or .md, .pdf), or --tables FOLDER.",
        )
    for path in outputs:
        check_format(path)
    contents = gather(Comparison.open(runs_at([arguments.baseline, *arguments.candidates])).check())
    if arguments.review is not None:
        history = history_module(f"The review {arguments.review}", "Leave --review out")
        review = history.review(arguments.review)
        contents = replace(contents, review=review, review_url=arguments.review_url or "")
    if arguments.redact:
        contents = redacted(contents)
    for path in outputs:
        write_report(contents, path)
        print(path)
    if arguments.tables is not None:
        for path in write_tables(contents, arguments.tables, arguments.format):
            print(path)
    return 0
