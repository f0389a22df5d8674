"""The command line: finds the module of a verb, and shows every error as problem and remedy.

Verbs are imported by name, and only the one that is asked for: capturing must work on a GPU
machine where nothing of the analyses is installed.
"""

import argparse
import importlib
import logging
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any, Protocol

from profiler_core import __version__
from profiler_core.cli.parser import VerbParser
from profiler_core.cli.table import show_whole
from profiler_core.errors import Cancelled, FusionscopeError
from profiler_core.terminal_text import only_printable

# verb -> (its module, what it answers)
VERBS: dict[str, tuple[str, str]] = {
    "doctor": ("profiler_core.cli.doctor", "what this machine can capture, and what is missing"),
    "capture": ("profiler_core.cli.capture", "run variants of a model and record what they do"),
    "try": ("profiler_core.cli.experiment", "which setting is the fastest for a model, measured"),
    "server-profile": (
        "profiler_core.cli.server_profile",
        "profile a running vLLM or SGLang, and open what it writes",
    ),
    "run": ("profiler_core.cli.run", "your own training script, which records itself"),
    "summary": ("profiler_core.cli.summary", "one run or trace in numbers"),
    "compare": ("profiler_core.cli.compare", "a baseline and its candidates, per step"),
    "sweep": ("profiler_core.cli.sweep", "from which value on does compiling pay"),
    "logs": ("profiler_core.cli.logs", "what the compiler said, and what it costs"),
    "telemetry": ("profiler_core.cli.telemetry", "clocks, power, energy and CPU of a run"),
    "memory": ("profiler_core.cli.memory", "where the memory of a run went"),
    "counters": ("profiler_core.cli.counters", "what Nsight Compute measured, kernel by kernel"),
    "ranks": ("profiler_core.cli.ranks", "who waits for whom among the ranks of a job"),
    "gate": ("profiler_core.cli.gate", "is a candidate within its limits, for CI"),
    "report": (
        "profiler_core.cli.report",
        "a comparison or a run as HTML, Markdown, PDF or tables",
    ),
    "export": ("profiler_core.cli.export", "one merged trace of all runs, for ui.perfetto.dev"),
    "audit": ("profiler_core.cli.audit", "who captured, uploaded, deleted, signed what"),
    "backup": ("profiler_core.cli.backup", "the history and its files, while a server works"),
    "restore": ("profiler_core.cli.restore", "a backup into an empty home and database"),
    "open": ("profiler_core.cli.open", "the dashboard in the browser, at these runs"),
    "serve": ("profiler_core.cli.serve", "a server for a team, after a look at its settings"),
    "mcp": ("profiler_core.agents.serve", "the same analyses for coding agents, over stdio"),
    "comment": ("profiler_core.cli.comment", "put a report on a pull request, as one comment"),
    "completion": ("profiler_core.cli.completion", "commands and options completed in your shell"),
    "docs": ("profiler_core.cli.docs", "the documentation, page by page"),
    "runs": ("profiler_core.cli.history", "the history: list, import, tag, baselines, delete"),
}

_CANCELLED = 130  # what a shell says of a process that SIGINT ended


class Verb(Protocol):
    """What each module of a verb offers."""

    def add_parser(self, subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
        """Declare the verb's arguments."""

    def run(self, arguments: argparse.Namespace) -> int:
        """Do it; returns the exit status."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb.

    Args:
        argv: the words after the program's name; those of this process by default.

    Returns:
        0 done, 1 the analysed thing is bad, 2 bad input or usage, 3 cannot judge, 130 cancelled.
    """
    with only_printable():
        return _main(list(sys.argv[1:] if argv is None else argv))


def _main(words: list[str]) -> int:
    if words[:1] == ["--version"]:
        print(f"fusionscope {__version__}")
        return 0
    name = next((word for word in words if not word.startswith("-")), None)
    if name not in VERBS or words[0].startswith("-"):
        return _usage(words, name)
    try:
        return run_verb(name, words)
    except Cancelled as error:
        print(error.problem, file=sys.stderr)
        return _CANCELLED
    except FusionscopeError as error:
        if logging.getLogger().isEnabledFor(logging.INFO):  # --verbose
            traceback.print_exception(error)
        print(f"{error.problem}\n{error.remedy}", file=sys.stderr)
        return error.exit_status
    except KeyboardInterrupt:
        print("Cancelled.", file=sys.stderr)
        return _CANCELLED
    except BrokenPipeError:  # `… | head`: nobody reads on, which is no error
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def run_verb(name: str, words: Sequence[str]) -> int:
    """Run one verb with all of its words, its own name among them; returns the exit status.

    Raises:
        FusionscopeError: it cannot be done.
        SystemExit: the words cannot be understood.
    """
    verb = verb_module(name)
    parser, subparsers = _parser()
    verb.add_parser(subparsers)
    common = argparse.Namespace(quiet=False, verbose=False, wide=False)
    arguments = parser.parse_args(words, common)
    show_whole(arguments.wide)
    if arguments.verbose:
        from profiler_core.operate.log import configure_verbose  # what no other call needs

        configure_verbose()
    return verb.run(arguments)


def verb_module(name: str) -> Verb:
    """The module of a verb, imported at this moment.

    Raises:
        ImportError: it needs a library that is not installed.
    """
    module: Verb = importlib.import_module(VERBS[name][0])
    return module


def _parser() -> tuple[argparse.ArgumentParser, "argparse._SubParsersAction[Any]"]:
    parser = argparse.ArgumentParser(
        prog="fusionscope", description="What torch.compile did to your model, measured."
    )
    subparsers = parser.add_subparsers(
        dest="verb", required=True, metavar="VERB", parser_class=VerbParser
    )
    return parser, subparsers


def _usage(words: list[str], name: str | None) -> int:
    """Print the help, or an error for an unknown verb; imports none of the verbs' modules."""
    parser, subparsers = _parser()
    for verb, (_, answers) in VERBS.items():
        subparsers.add_parser(verb, help=answers)
    parser.add_argument(
        "--version", action="store_true", help="print the version, and nothing else"
    )
    if words and words[0] in ("-h", "--help"):
        parser.print_help()
        return 0
    if name is not None:
        print(f"'{name}' is not a command of fusionscope.", file=sys.stderr)
        print(f"Use one of {', '.join(VERBS)}.", file=sys.stderr)
    else:
        parser.print_usage(sys.stderr)
        print(f"Name a verb: {', '.join(VERBS)}.", file=sys.stderr)
    return 2
